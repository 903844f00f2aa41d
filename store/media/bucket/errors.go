package bucket

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"hindcast/model/printable"
	"hindcast/store/media/disk"
)

var (
	// ErrCredentials: no key to sign requests with was found.
	ErrCredentials = errors.New("no credentials for S3 were found")
	// ErrRegion: the bucket is in another region than the one that was asked.
	ErrRegion = errors.New("the bucket is in another region")
	// ErrUnconditional: the server does not hold to conditions of a request.
	ErrUnconditional = errors.New("the server does not hold to If-Match and If-None-Match: nothing is written there")
)

// DiskOnlyError says that what is in a bucket is read from a disk alone.
type DiskOnlyError struct {
	// Address is the object's, and What describes it, for people.
	Address, What string
}

func (e *DiskOnlyError) Error() string {
	return fmt.Sprintf("%s is %s: that is read from a disk alone, so copy it first, as with aws s3 cp", printable.String(e.Address), e.What)
}

// Error is an error that a server answered a request with.
type Error struct {
	// Op is the request in a word, such as "GET", and Address what it was about, as
	// s3://bucket/key.
	Op, Address string
	// Status is the status of HTTP, and Code the code of S3, such as "AccessDenied"; "" if there is no code.
	Status int
	Code   string
	// Message is the server's text.
	Message string
	// Region is where the bucket is, "" where the server does not say.
	Region string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s: %d", e.Op, e.Address, e.Status)
	if e.Code != "" {
		text += " " + printable.String(e.Code)
	}
	if e.Message != "" {
		text += fmt.Sprintf(" (%.200s)", printable.String(e.Message))
	}
	if do := e.remedy(); do != "" {
		text += ": " + do
	}
	return text
}

// remedy returns advice on the error, "" where nothing helps.
func (e *Error) remedy() string {
	switch {
	case e.Region != "" && e.Is(ErrRegion):
		return fmt.Sprintf("the bucket is in %s: set AWS_REGION=%[1]s", printable.String(e.Region))
	case e.Is(ErrRegion):
		return "the bucket is in another region: set AWS_REGION to that"
	case e.Code == "NoSuchBucket":
		return "there is no such bucket: look at the name, the account and --endpoint"
	case e.Code == "InvalidAccessKeyId", e.Code == "SignatureDoesNotMatch", e.Code == "ExpiredToken", e.Code == "InvalidToken":
		return "the key is not valid there: look at AWS_PROFILE, AWS_ACCESS_KEY_ID and their like, or sign in again"
	case e.Status == http.StatusForbidden:
		return "the key may not do that: reading needs s3:ListBucket of the bucket and s3:GetObject, writing s3:PutObject and s3:DeleteObject too"
	case e.Status == http.StatusNotFound:
		return "nothing has that name"
	case e.Status == http.StatusServiceUnavailable, e.Status == http.StatusTooManyRequests:
		return "the server has too much to do: try again later"
	}
	return ""
}

// Is makes errors.Is hold for fs.ErrNotExist, fs.ErrPermission, disk.ErrChanged and ErrRegion.
func (e *Error) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return e.Status == http.StatusNotFound
	case fs.ErrPermission:
		return e.Status == http.StatusForbidden || e.Status == http.StatusUnauthorized
	case disk.ErrChanged:
		return e.Status == http.StatusPreconditionFailed
	case ErrRegion:
		return e.Status == http.StatusMovedPermanently || e.Code == "AuthorizationHeaderMalformed" || e.Code == "IllegalLocationConstraintException"
	}
	return false
}

// hasStatus reports whether an error is an answer of a status.
func hasStatus(err error, status int) bool {
	answer := (*Error)(nil)
	return errors.As(err, &answer) && answer.Status == status
}
