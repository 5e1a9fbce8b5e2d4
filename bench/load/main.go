// A load generator for the S3 gateway: one connection a client, requests signed with Signature V4, written and read by
// hand so that the generator takes little of the machine that it measures.
//
//	load -addr 127.0.0.1:8000 -bucket demo -prefix main/ -op put|get|head|list -n 20000 -c 64 -size 1024 -ak KEY -sk SECRET
//	     -order turn|uniform|zipf -writes 10
//
// Prints one JSON object: requests a second, latencies in milliseconds, how many answers were not 2xx. With -writes, so
// many of a hundred requests are PUTs, and the latencies are those of the others.
package main

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/url"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type result struct {
	Op        string  `json:"op"`
	Requests  int     `json:"requests"`
	Clients   int     `json:"clients"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"per_second"`
	BytesPerS float64 `json:"bytes_per_second"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	WriteP50  float64 `json:"write_p50_ms"`
	WriteP99  float64 `json:"write_p99_ms"`
	Failed    int64   `json:"failed"`
	First     string  `json:"first_failure,omitempty"`
}

var (
	addr    = flag.String("addr", "127.0.0.1:8000", "host and port")
	bucket  = flag.String("bucket", "bench", "bucket")
	prefix  = flag.String("prefix", "main/", "what keys begin with")
	op      = flag.String("op", "put", "put, get, head or list")
	count   = flag.Int("n", 10000, "requests in all")
	clients = flag.Int("c", 64, "clients at once")
	size    = flag.Int("size", 1024, "bytes of a body")
	keys    = flag.Int("keys", 10000, "distinct keys")
	access  = flag.String("ak", "", "access key; empty: requests are not signed")
	secret  = flag.String("sk", "", "its secret")
	order   = flag.String("order", "turn", "which key is next: turn, uniform or zipf")
	writes  = flag.Int("writes", 0, "PUTs among a hundred requests of another kind")
	seed    = flag.Int64("seed", 1, "of what is drawn")
	query   = flag.String("query", "list-type=2", "query of a list, its names in order; {} is the number of the request")
	limit   = flag.Float64("for", 0, "stop after so many seconds, even if there are requests left; 0: never")
)

func main() {
	flag.Parse()
	body := bytes.Repeat([]byte("lochan "), *size/7+1)[:*size]
	sum := sha256.Sum256(body)
	var next, failed, received int64
	var first atomic.Value
	times, writeTimes := make([][]float64, *clients), make([][]float64, *clients)
	begin := time.Now()
	var group sync.WaitGroup
	for c := 0; c < *clients; c++ {
		group.Add(1)
		go func(c int) {
			defer group.Done()
			one := &client{body: body, hash: hex.EncodeToString(sum[:]), keys: newKeys(*seed + int64(c))}
			for {
				n := atomic.AddInt64(&next, 1) - 1
				if n >= int64(*count) || *limit > 0 && time.Since(begin).Seconds() >= *limit {
					return
				}
				kind := *op
				if one.keys.random.Intn(100) < *writes {
					kind = "put"
				}
				start := time.Now()
				status, length, err := one.request(kind, int(n))
				took := float64(time.Since(start).Microseconds()) / 1000
				if kind == *op {
					times[c] = append(times[c], took)
				} else {
					writeTimes[c] = append(writeTimes[c], took)
				}
				atomic.AddInt64(&received, int64(length))
				if err != nil || status/100 != 2 {
					atomic.AddInt64(&failed, 1)
					first.CompareAndSwap(nil, fmt.Sprintf("status %d, %v: %s", status, err, one.last))
				}
			}
		}(c)
	}
	group.Wait()
	*count = int(next) - *clients // each of them has drawn a number that it did not use
	took := time.Since(begin).Seconds()
	p50, p99 := percentiles(times)
	writeP50, writeP99 := percentiles(writeTimes)
	moved := float64(received)
	if *op == "put" {
		moved = float64(*count) * float64(*size)
	}
	out := result{*op, *count, *clients, took, float64(*count) / took, moved / took, p50, p99, writeP50, writeP99, failed, ""}
	if text, ok := first.Load().(string); ok {
		out.First = text
	}
	json.NewEncoder(os.Stdout).Encode(out)
}

func percentiles(parts [][]float64) (float64, float64) {
	var all []float64
	for _, part := range parts {
		all = append(all, part...)
	}
	if len(all) == 0 {
		return 0, 0
	}
	sort.Float64s(all)
	return all[len(all)/2], all[len(all)*99/100]
}

// The keys that one client asks for.
type keySource struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newKeys(seed int64) *keySource {
	random := rand.New(rand.NewSource(seed))
	return &keySource{random, rand.NewZipf(random, 1.1, 1, uint64(*keys-1))}
}

// A prime: the keys that are asked for most often are spread over all of them, and not neighbours.
const spread = 7_368_787

func (k *keySource) next(n int) int {
	switch *order {
	case "uniform":
		return k.random.Intn(*keys)
	case "zipf":
		return int(k.zipf.Uint64() * spread % uint64(*keys))
	}
	return n % *keys
}

type client struct {
	keys *keySource
	body []byte
	hash string
	conn net.Conn
	in   *bufio.Reader
	last string
	key  []byte // of the day
	day  string
}

func (c *client) request(kind string, n int) (int, int, error) {
	if c.conn == nil {
		conn, err := net.Dial("tcp", *addr)
		if err != nil {
			return 0, 0, err
		}
		c.conn, c.in = conn, bufio.NewReaderSize(conn, 64<<10)
	}
	method, path, rawQuery, hash := "GET", "/"+*bucket+"/"+*prefix+fmt.Sprintf("k/%08d", c.keys.next(n)), "", emptyHash
	var body []byte
	switch kind {
	case "put":
		method, hash, body = "PUT", c.hash, c.body
	case "head":
		method = "HEAD"
	case "list":
		path, rawQuery = "/"+*bucket, strings.ReplaceAll(*query, "{}", fmt.Sprintf("%05d", n))
	}
	head := c.head(method, path, rawQuery, hash, len(body))
	if _, err := (&net.Buffers{head, body}).WriteTo(c.conn); err != nil {
		c.drop()
		return 0, 0, err
	}
	status, length, err := c.answer(method)
	if err != nil {
		c.drop()
	}
	return status, length, err
}

func (c *client) drop() { c.conn.Close(); c.conn = nil }

var emptyHash = hex.EncodeToString(func() []byte { s := sha256.Sum256(nil); return s[:] }())

func (c *client) head(method, path, rawQuery, hash string, length int) []byte {
	var out bytes.Buffer
	target := path
	if rawQuery != "" {
		target += "?" + rawQuery
	}
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, target, *addr)
	if method == "PUT" {
		fmt.Fprintf(&out, "Content-Length: %d\r\n", length)
	}
	if *access != "" {
		now := time.Now().UTC()
		date := now.Format("20060102T150405Z")
		fmt.Fprintf(&out, "x-amz-date: %s\r\nx-amz-content-sha256: %s\r\nAuthorization: %s\r\n", date, hash,
			c.signature(method, path, rawQuery, hash, date))
	}
	out.WriteString("\r\n")
	return out.Bytes()
}

func (c *client) signature(method, path, rawQuery, hash, date string) string {
	scope := date[:8] + "/us-east-1/s3/aws4_request"
	if c.day != date[:8] {
		c.day = date[:8]
		c.key = mac(mac(mac(mac([]byte("AWS4"+*secret), c.day), "us-east-1"), "s3"), "aws4_request")
	}
	canonical := method + "\n" + (&url.URL{Path: path}).EscapedPath() + "\n" + rawQuery + "\nhost:" + *addr +
		"\nx-amz-content-sha256:" + hash + "\nx-amz-date:" + date + "\n\nhost;x-amz-content-sha256;x-amz-date\n" + hash
	sum := sha256.Sum256([]byte(canonical))
	toSign := "AWS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" + hex.EncodeToString(sum[:])
	return "AWS4-HMAC-SHA256 Credential=" + *access + "/" + scope +
		", SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=" + hex.EncodeToString(mac(c.key, toSign))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func (c *client) answer(method string) (int, int, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return 0, 0, err
	}
	parts := strings.SplitN(line, " ", 3)
	if len(parts) < 2 {
		return 0, 0, fmt.Errorf("no status in %q", line)
	}
	status, _ := strconv.Atoi(parts[1])
	length, chunked := 0, false
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return status, 0, err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		switch strings.ToLower(name) {
		case "content-length":
			length, _ = strconv.Atoi(strings.TrimSpace(value))
		case "transfer-encoding":
			chunked = true
		}
	}
	if method == "HEAD" || status == 204 || status == 304 {
		return status, 0, nil
	}
	if chunked {
		return status, 0, fmt.Errorf("a chunked answer, which a length was expected of")
	}
	if status/100 != 2 {
		text := make([]byte, length)
		_, err = io.ReadFull(c.in, text)
		c.last = string(text)
		return status, length, err
	}
	_, err = io.CopyN(io.Discard, c.in, int64(length))
	return status, length, err
}
