"""Defines every S3 error that the gateway answers: its code, its HTTP status, and what AWS says with it.

The codes and statuses are those of the S3 API. Clients use them to decide whether to repeat a request.
"""

from collections.abc import Mapping
from typing import Final


class S3Error(Exception):
    """An error of S3. `fields` are further elements of the XML body, in order. `headers` are sent with it."""

    def __init__(self, code: str, message: str = "", /, **fields: str) -> None:
        self.status, usual = CODES[code]
        self.code = code
        self.message = message or usual
        self.fields: Mapping[str, str] = fields
        self.headers: dict[str, str] = {}
        super().__init__(f"{code}: {self.message}")

    def with_header(self, name: str, value: str) -> "S3Error":
        self.headers[name] = value
        return self

    @property
    def has_body(self) -> bool:
        """Whether the answer has a body. A 304 has none."""
        return self.status != 304


CODES: Final[Mapping[str, tuple[int, str]]] = {
    # The sender
    "AccessDenied": (403, "Access Denied"),
    "AuthorizationHeaderMalformed": (400, "The authorization header you provided is invalid."),
    "AuthorizationQueryParametersError": (400, "The authorization query parameters that you provided are not valid."),
    "CredentialsNotSupported": (400, "This request does not support credentials."),
    "ExpiredToken": (400, "The provided token has expired."),
    "InvalidAccessKeyId": (403, "The AWS Access Key Id you provided does not exist in our records."),
    "InvalidPolicyDocument": (400, "The content of the form does not meet the conditions in the policy document."),
    "InvalidSecurity": (403, "The provided security credentials are not valid."),
    "InvalidToken": (400, "The provided token is malformed or otherwise invalid."),
    "MissingSecurityHeader": (400, "Your request is missing a required header."),
    "RequestExpired": (400, "Request has expired."),
    "RequestTimeTooSkewed": (403, "The difference between the request time and the current time is too large."),
    "SignatureDoesNotMatch": (
        403,
        "The request signature we calculated does not match the signature you provided. Check your key and signing "
        "method.",
    ),
    "XAmzContentSHA256Mismatch": (
        400,
        "The provided 'x-amz-content-sha256' header does not match what was computed.",
    ),
    # The body and its digests
    "BadDigest": (400, "The Content-MD5 or checksum value that you specified did not match what the server received."),
    "EntityTooLarge": (400, "Your proposed upload exceeds the maximum allowed size."),
    "EntityTooSmall": (400, "Your proposed upload is smaller than the minimum allowed size."),
    "IncompleteBody": (
        400,
        "You did not provide the number of bytes specified by the Content-Length HTTP header.",
    ),
    "InvalidChunkSizeError": (403, "Only the last chunk is allowed to have a size less than 8192 bytes."),
    "InvalidDigest": (400, "The Content-MD5 or checksum value that you specified is not valid."),
    "MalformedPOSTRequest": (400, "The body of your POST request is not well-formed multipart/form-data."),
    "MalformedTrailerError": (
        400,
        "The request contained trailing data that was not well-formed or did not conform to our published schema.",
    ),
    "MalformedXML": (
        400,
        "The XML you provided was not well-formed or did not validate against our published schema.",
    ),
    "MaxMessageLengthExceeded": (400, "Your request was too big."),
    "MaxPostPreDataLengthExceededError": (
        400,
        "Your POST request fields preceding the upload file were too large.",
    ),
    "MetadataTooLarge": (400, "Your metadata headers exceed the maximum allowed metadata size."),
    "MissingContentLength": (411, "You must provide the Content-Length HTTP header."),
    "MissingRequestBodyError": (400, "Request body is empty."),
    "RequestTimeout": (
        400,
        "Your socket connection to the server was not read from or written to within the timeout period.",
    ),
    # Buckets
    "BucketAlreadyExists": (409, "The requested bucket name is not available."),
    "BucketAlreadyOwnedByYou": (409, "Your previous request to create the named bucket succeeded and you own it."),
    "BucketNotEmpty": (409, "The bucket you tried to delete is not empty."),
    "IllegalLocationConstraintException": (400, "The location constraint is not valid for this endpoint."),
    "InvalidBucketName": (400, "The specified bucket is not valid."),
    "InvalidLocationConstraint": (400, "The specified location-constraint is not valid."),
    "NoSuchBucket": (404, "The specified bucket does not exist."),
    "TooManyBuckets": (400, "You have attempted to create more buckets than allowed."),
    # Objects and uploads
    "InvalidObjectState": (403, "The operation is not valid for the current state of the object."),
    "InvalidPart": (
        400,
        "One or more of the specified parts could not be found. The part might not have been uploaded, or the "
        "specified entity tag might not have matched the part's entity tag.",
    ),
    "InvalidPartNumber": (416, "The requested partnumber is not satisfiable."),
    "InvalidPartOrder": (400, "The list of parts was not in ascending order. Parts must be ordered by part number."),
    "InvalidRange": (416, "The requested range is not satisfiable."),
    "KeyTooLongError": (400, "Your key is too long."),
    "NoSuchKey": (404, "The specified key does not exist."),
    "NoSuchUpload": (
        404,
        "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or "
        "completed.",
    ),
    "NoSuchVersion": (404, "The specified version does not exist."),
    # Conditions
    "ConditionalRequestConflict": (
        409,
        "A conflicting operation occurred during the request. Fetch the object's ETag and repeat it.",
    ),
    "NotModified": (304, "Not Modified"),
    "OperationAborted": (409, "A conflicting conditional operation is currently in progress against this resource."),
    "PreconditionFailed": (412, "At least one of the pre-conditions you specified did not hold"),
    # The request itself
    "IdempotentParameterMismatch": (422, "The idempotency key was used for another request."),
    "InvalidArgument": (400, "Invalid Argument"),
    "InvalidEncryptionAlgorithmError": (400, "The encryption request that you specified is not valid."),
    "InvalidRequest": (400, "Invalid Request"),
    "InvalidStorageClass": (400, "The storage class you specified is not valid."),
    "InvalidURI": (400, "Couldn't parse the specified URI."),
    "BadRequest": (400, "Bad Request"),
    "AccessForbidden": (403, "CORSResponse: CORS is not enabled for this bucket."),
    "MethodNotAllowed": (405, "The specified method is not allowed against this resource."),
    "NotImplemented": (501, "A header you provided implies functionality that is not implemented."),
    "PermanentRedirect": (301, "The bucket you are attempting to access must be addressed at another endpoint."),
    "RequestHeaderSectionTooLarge": (400, "Your request header section exceeds the maximum allowed size."),
    "UnexpectedContent": (400, "This request does not support content."),
    "UserKeyMustBeSpecified": (400, "The bucket POST must contain the specified field name."),
    # Sub-resources that are not kept here; the answer is that of an object or bucket that never had them
    "NoSuchBucketPolicy": (404, "The bucket policy does not exist"),
    "NoSuchCORSConfiguration": (404, "The CORS configuration does not exist"),
    "NoSuchLifecycleConfiguration": (404, "The lifecycle configuration does not exist"),
    "NoSuchObjectLockConfiguration": (404, "The specified object does not have a ObjectLock configuration"),
    "NoSuchPublicAccessBlockConfiguration": (404, "The public access block configuration was not found"),
    "NoSuchTagSet": (404, "The TagSet does not exist"),
    "NoSuchWebsiteConfiguration": (404, "The specified bucket does not have a website configuration"),
    "ObjectLockConfigurationNotFoundError": (404, "Object Lock configuration does not exist for this bucket"),
    "OwnershipControlsNotFoundError": (404, "The bucket ownership controls were not found"),
    "ReplicationConfigurationNotFoundError": (404, "The replication configuration was not found"),
    "ServerSideEncryptionConfigurationNotFoundError": (
        404,
        "The server side encryption configuration was not found",
    ),
    # Ours
    "InternalError": (500, "We encountered an internal error. Please try again."),
    "ServiceUnavailable": (503, "Service is unable to handle request."),
    "SlowDown": (503, "Please reduce your request rate."),
}
