// Command gcs-xml is Google Cloud Storage for tests: the buckets, generations and conditions of fake-gcs-server behind
// the XML API, which is the one that obstore speaks and fake-gcs-server does not. Every write goes through
// fake-gcs-server's own JSON API, so it decides which condition holds; this program only translates.
package main

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

const pageSize = 1000 // as Google's own limit

func main() {
	gcs, err := fakestorage.NewServerWithOptions(fakestorage.Options{NoListener: true, Writer: io.Discard})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(listener, &server{gcs: gcs, uploads: map[string]map[int][]byte{}}))
}

type server struct {
	gcs     *fakestorage.Server
	lock    sync.Mutex
	uploads map[string]map[int][]byte // parts by upload and number
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/storage/v1/") || r.URL.Path == "/_internal/healthcheck" {
		s.gcs.HTTPHandler().ServeHTTP(w, r) // tests make their buckets by the JSON API
		return
	}
	bucket, name, isObject := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if !s.hasBucket(bucket) {
		fail(w, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist.")
		return
	}
	if r.Header.Get("Authorization") == "Bearer wrong" {
		fail(w, http.StatusUnauthorized, "AuthenticationRequired", "Authentication required.")
		return
	}
	query := r.URL.Query()
	switch {
	case !isObject || name == "":
		s.list(w, bucket, query)
	case r.Method == http.MethodPut && query.Has("uploadId"):
		s.putPart(w, r, query)
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		s.put(w, bucket, name, body, r.Header)
	case r.Method == http.MethodPost && query.Has("uploads"):
		s.beginUpload(w, bucket, name)
	case r.Method == http.MethodPost && query.Has("uploadId"):
		s.completeUpload(w, r, bucket, name, query.Get("uploadId"))
	case r.Method == http.MethodDelete && query.Has("uploadId"):
		s.abortUpload(w, query.Get("uploadId"))
	case r.Method == http.MethodDelete:
		s.remove(w, bucket, name)
	default:
		s.get(w, r, bucket, name)
	}
}

func (s *server) hasBucket(bucket string) bool {
	return s.json(http.MethodGet, "/storage/v1/b/"+url.PathEscape(bucket), nil).Code == http.StatusOK
}

func (s *server) json(method, target string, body []byte) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(method, target, bytes.NewReader(body))
	request.Host = "storage.googleapis.com"
	s.gcs.HTTPHandler().ServeHTTP(answer, request)
	return answer
}

// put returns whether the object was written. The answer says what the condition decided.
func (s *server) put(w http.ResponseWriter, bucket, name string, body []byte, header http.Header) bool {
	target := "/upload/storage/v1/b/" + url.PathEscape(bucket) + "/o?uploadType=media&name=" + url.QueryEscape(name)
	if generation := header.Get("x-goog-if-generation-match"); generation != "" {
		target += "&ifGenerationMatch=" + generation
	}
	answer := s.json(http.MethodPost, target, body)
	switch answer.Code {
	case http.StatusOK:
		var made struct{ Md5Hash, Generation string }
		_ = json.Unmarshal(answer.Body.Bytes(), &made)
		w.Header().Set("ETag", etag(made.Md5Hash))
		w.Header().Set("x-goog-generation", made.Generation)
		return true
	case http.StatusPreconditionFailed:
		fail(w, answer.Code, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.")
	default:
		fail(w, answer.Code, "InternalError", answer.Body.String())
	}
	return false
}

func (s *server) get(w http.ResponseWriter, r *http.Request, bucket, name string) {
	object, err := s.gcs.GetObject(bucket, name)
	if err != nil {
		fail(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
		return
	}
	w.Header().Set("ETag", etag(object.Md5Hash))
	w.Header().Set("x-goog-generation", fmt.Sprint(object.Generation))
	w.Header().Set("Content-Type", "application/octet-stream")
	if r.Header.Get("Range") != "" && len(object.Content) == 0 { // Go would answer 200, Google answers this
		fail(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range cannot be satisfied.")
		return
	}
	http.ServeContent(w, r, "", object.Updated, bytes.NewReader(object.Content)) // ranges and If-Match
}

func (s *server) remove(w http.ResponseWriter, bucket, name string) {
	answer := s.json(http.MethodDelete, "/storage/v1/b/"+url.PathEscape(bucket)+"/o/"+url.PathEscape(name), nil)
	if answer.Code == http.StatusNotFound {
		fail(w, answer.Code, "NoSuchKey", "The specified key does not exist.")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

type listed struct {
	Key, LastModified, ETag string
	Size                    int64
}

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []listed
}

func (s *server) list(w http.ResponseWriter, bucket string, query url.Values) {
	objects, _, _ := s.gcs.ListObjectsWithOptions(bucket, fakestorage.ListOptions{Prefix: query.Get("prefix")})
	sort.Slice(objects, func(i, j int) bool { return objects[i].Name < objects[j].Name }) // by bytes, as Google's
	after := max(query.Get("start-after"), query.Get("continuation-token"))
	result := listing{}
	for _, each := range objects {
		if each.Name <= after {
			continue
		}
		if len(result.Contents) == pageSize {
			result.IsTruncated = true
			result.NextContinuationToken = result.Contents[pageSize-1].Key
			break
		}
		modified := each.Updated.UTC().Format("2006-01-02T15:04:05.000Z")
		result.Contents = append(result.Contents, listed{each.Name, modified, etag(each.Md5Hash), each.Size})
	}
	answer(w, result)
}

func (s *server) beginUpload(w http.ResponseWriter, bucket, name string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	id := fmt.Sprintf("%d-%d", time.Now().UnixNano(), len(s.uploads))
	s.uploads[id] = map[int][]byte{}
	answer(w, struct {
		XMLName               xml.Name `xml:"InitiateMultipartUploadResult"`
		Bucket, Key, UploadId string
	}{Bucket: bucket, Key: name, UploadId: id})
}

func (s *server) putPart(w http.ResponseWriter, r *http.Request, query url.Values) {
	body, _ := io.ReadAll(r.Body)
	var number int
	_, _ = fmt.Sscan(query.Get("partNumber"), &number)
	s.lock.Lock()
	defer s.lock.Unlock()
	parts, isOpen := s.uploads[query.Get("uploadId")]
	if !isOpen {
		fail(w, http.StatusNotFound, "NoSuchUpload", "The specified upload does not exist.")
		return
	}
	parts[number] = body
	sum := md5.Sum(body)
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:])+`"`)
}

func (s *server) completeUpload(w http.ResponseWriter, r *http.Request, bucket, name, id string) {
	var asked struct{ Part []struct{ PartNumber int } }
	body, _ := io.ReadAll(r.Body)
	if err := xml.Unmarshal(body, &asked); err != nil {
		fail(w, http.StatusBadRequest, "MalformedXML", err.Error())
		return
	}
	s.lock.Lock()
	parts, isOpen := s.uploads[id]
	delete(s.uploads, id)
	s.lock.Unlock()
	if !isOpen {
		fail(w, http.StatusNotFound, "NoSuchUpload", "The specified upload does not exist.")
		return
	}
	var whole bytes.Buffer
	for _, part := range asked.Part {
		whole.Write(parts[part.PartNumber])
	}
	if s.put(w, bucket, name, whole.Bytes(), r.Header) {
		answer(w, struct {
			XMLName           xml.Name `xml:"CompleteMultipartUploadResult"`
			Bucket, Key, ETag string
		}{Bucket: bucket, Key: name, ETag: w.Header().Get("ETag")})
	}
}

func (s *server) abortUpload(w http.ResponseWriter, id string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	delete(s.uploads, id)
	w.WriteHeader(http.StatusNoContent)
}

// etag is the MD5 in hexadecimal, as the XML API reports it for objects that were not composed.
func etag(md5Base64 string) string {
	sum, _ := base64.StdEncoding.DecodeString(md5Base64)
	return `"` + hex.EncodeToString(sum) + `"`
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(value)
}

func fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName       xml.Name `xml:"Error"`
		Code, Message string
	}{Code: code, Message: message})
}
