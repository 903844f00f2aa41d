package bucket

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"hindcast/store"
	"hindcast/store/media/disk"
)

const (
	// timeLimit bounds one try of a request, tries how often a request is made whose
	// answer did not come or says that the server is busy.
	timeLimit = 30 * time.Second
	tries     = 4
	// atOnce bounds the requests that are under way.
	atOnce = 40
	// mostAnswer bounds what is read of an answer that is no content, in bytes.
	mostAnswer = 16 << 20
)

// client makes the requests of one bucket. It is safe for concurrent use.
type client struct {
	http *http.Client
	sign *v4.Signer
	keys aws.CredentialsProvider
	// base is where the bucket is, without a key, and region the one that is signed for.
	base   url.URL
	region string
	bucket string
	// life ends all requests.
	life context.Context
	// slots has a token for each request that may be under way.
	slots chan struct{}
	// pause waits before a request is made again.
	pause func(context.Context, int) error
	// made counts the requests by what they do.
	made counts
}

// counts counts the requests made.
type counts struct{ list, get, head, put, remove, again atomic.Int64 }

func (c *counts) read() store.Requests {
	return store.Requests{List: c.list.Load(), Get: c.get.Load(), Head: c.head.Load(), Put: c.put.Load(), Delete: c.remove.Load(), Again: c.again.Load()}
}

// newClient finds the endpoint, the region and the credentials as the AWS SDK does: variables of
// the environment, the files of its profiles, and what the machine is given. endpoint, if it
// is not "", goes before those.
func newClient(ctx, life context.Context, bucket, endpoint string) (*client, error) {
	found, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{})) // its errors say what it logs
	if err != nil {
		return nil, err
	}
	endpoint = cmp.Or(endpoint, serviceEndpoint(ctx, found))
	c := &client{
		http:   &http.Client{Transport: newTransport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		sign:   v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }),
		keys:   found.Credentials,
		region: cmp.Or(found.Region, "us-east-1"), bucket: bucket, life: life,
		slots: make(chan struct{}, atOnce), pause: backOff,
	}
	switch {
	case endpoint != "":
		at, err := url.Parse(endpoint)
		if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
			return nil, fmt.Errorf("the endpoint %.200q is no URL of http or https", endpoint)
		}
		c.base = url.URL{Scheme: at.Scheme, Host: at.Host, Path: strings.TrimSuffix(at.Path, "/") + "/" + bucket}
	case strings.Contains(bucket, "."): // no certificate fits its host
		c.base = url.URL{Scheme: "https", Host: "s3." + c.region + regionDomain(c.region), Path: "/" + bucket}
	default:
		c.base = url.URL{Scheme: "https", Host: bucket + ".s3." + c.region + regionDomain(c.region)}
	}
	return c, nil
}

// regionDomain returns that of the services of a region.
func regionDomain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return ".amazonaws.com.cn"
	}
	return ".amazonaws.com"
}

// serviceEndpoint returns the endpoint that the environment or a profile names for S3, or for
// all services; "" if they name no endpoint.
func serviceEndpoint(ctx context.Context, found aws.Config) string {
	for _, source := range found.ConfigSources {
		if named, ok := source.(interface {
			GetServiceBaseEndpoint(ctx context.Context, service string) (string, bool, error)
		}); ok {
			if at, ok, err := named.GetServiceBaseEndpoint(ctx, "S3"); ok && err == nil {
				return at
			}
		}
	}
	return aws.ToString(found.BaseEndpoint)
}

// newTransport keeps as many connections as there are requests at once.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: timeLimit,
		MaxIdleConns: atOnce, MaxIdleConnsPerHost: atOnce, IdleConnTimeout: time.Minute,
		ForceAttemptHTTP2: true, DisableCompression: true,
	}
}

// backOff waits before the n-th try.
func backOff(ctx context.Context, n int) error {
	wait := time.NewTimer(time.Duration(float64(100*time.Millisecond) * float64(int(1)<<n) * (0.5 + rand.Float64())))
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// request is a request to a bucket.
type request struct {
	op    string
	key   string
	query url.Values
	head  http.Header
	body  []byte
	count *atomic.Int64
	// most bounds the answer.
	most int64
}

// answer is the answer to a request.
type answer struct {
	head http.Header
	body []byte
	// again says that the request was made more than once: an earlier one may have been
	// carried out.
	again bool
}

// doRequest makes a request until an answer comes. The error is an Error where the server refuses.
func (c *client) doRequest(ctx context.Context, r request) (answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return answer{}, c.explainError(&r, c.whyEnded(ctx))
	}
	for n := 0; ; n++ {
		r.count.Add(1)
		a, err := c.sendOnce(ctx, &r)
		a.again = n > 0
		if err == nil {
			return a, nil
		}
		if ended := c.whyEnded(ctx); ended != nil {
			return a, c.explainError(&r, ended)
		}
		if n+1 == tries || !isTransient(err) || c.pause(ctx, n) != nil {
			return a, c.explainError(&r, err)
		}
		c.made.again.Add(1)
	}
}

// whyEnded returns why no request is made any more: that of the caller, or that of the bucket.
func (c *client) whyEnded(ctx context.Context) error {
	if c.life.Err() != nil {
		return context.Cause(c.life)
	}
	return ctx.Err()
}

// explainError names what a request was about in its error.
func (c *client) explainError(r *request, err error) error {
	if answer := (*Error)(nil); errors.As(err, &answer) {
		return err
	}
	// It may name the address, too, whose query is of no use.
	if at := (*url.Error)(nil); errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("%s %s: %w", r.op, c.addressOf(r.key), err)
}

// addressOf returns that of a key, for people.
func (c *client) addressOf(key string) string { return "s3://" + c.bucket + "/" + key }

// isTransient reports whether a request may succeed when it is made again.
func isTransient(err error) bool {
	if answer := (*Error)(nil); errors.As(err, &answer) {
		return answer.Status >= 500 && answer.Status != http.StatusNotImplemented || answer.Status == http.StatusTooManyRequests || answer.Code == "RequestTimeout"
	}
	return !errors.Is(err, ErrCredentials) && !errors.Is(err, disk.ErrTooLarge)
}

// sendOnce makes a request.
func (c *client) sendOnce(ctx context.Context, r *request) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	keys, err := c.keys.Retrieve(ctx)
	if err != nil {
		return a, fmt.Errorf("%w: %w: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", ErrCredentials, err)
	}
	at := c.base
	at.RawPath = escapePath(at.Path) + "/" + escapePath(r.key)
	at.Path += "/" + r.key
	at.RawQuery = strings.ReplaceAll(r.query.Encode(), "+", "%20")
	asked, err := http.NewRequestWithContext(ctx, httpMethod(r.op), at.String(), bytes.NewReader(r.body))
	if err != nil {
		return a, err
	}
	asked.URL = &at
	asked.ContentLength = int64(len(r.body))
	if len(r.body) == 0 {
		asked.Body = http.NoBody
	}
	for name, values := range r.head {
		asked.Header[name] = values
	}
	sum := sha256.Sum256(r.body)
	hash := hex.EncodeToString(sum[:])
	asked.Header.Set("X-Amz-Content-Sha256", hash)
	if err := c.sign.SignHTTP(ctx, keys, asked, hash, "s3", c.region, time.Now()); err != nil {
		return a, err
	}
	got, err := c.http.Do(asked)
	if err != nil {
		return a, err
	}
	defer got.Body.Close()
	a.head = got.Header
	most := cmp.Or(r.most, mostAnswer)
	if got.StatusCode >= 300 {
		most = mostAnswer
	}
	a.body, err = io.ReadAll(io.LimitReader(got.Body, most+1))
	switch {
	case got.StatusCode >= 300:
		return a, c.answerError(r, got, a.body)
	case err != nil:
		return a, err
	case int64(len(a.body)) > most:
		return a, disk.ErrTooLarge
	case got.ContentLength >= 0 && r.op != "HEAD" && int64(len(a.body)) != got.ContentLength:
		return a, io.ErrUnexpectedEOF
	}
	return a, nil
}

// httpMethod returns the one of HTTP for a request.
func httpMethod(op string) string {
	if op == "LIST" {
		return http.MethodGet
	}
	return op
}

// answerError returns the error of an answer.
func (c *client) answerError(r *request, got *http.Response, body []byte) error {
	said := struct{ Code, Message, Region string }{}
	_ = xml.Unmarshal(body, &said) // some answers have none
	at := r.key
	if r.op == "LIST" {
		at = r.query.Get("prefix")
	}
	return &Error{
		Op: r.op, Address: c.addressOf(at), Status: got.StatusCode, Code: said.Code, Message: said.Message,
		Region: cmp.Or(got.Header.Get("X-Amz-Bucket-Region"), said.Region),
	}
}

// escapePath returns a path with all escaped but what S3 leaves as it is.
func escapePath(path string) string {
	var b strings.Builder
	for i := range len(path) {
		switch ch := path[i]; {
		case ch >= 'a' && ch <= 'z', ch >= 'A' && ch <= 'Z', ch >= '0' && ch <= '9', strings.IndexByte("-_.~/", ch) >= 0:
			b.WriteByte(ch)
		default:
			fmt.Fprintf(&b, "%%%02X", ch)
		}
	}
	return b.String()
}

// object describes an object, as a listing or the head of an answer does.
type object struct {
	tag      string // the ETag as it is sent
	size     int64
	modified time.Time
}

// headOf returns the tag, size and time of an object from the head of an answer.
func headOf(h http.Header) object {
	o := object{tag: h.Get("Etag")}
	o.size, _ = strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	o.modified, _ = http.ParseTime(h.Get("Last-Modified"))
	return o
}

// getObject reads an object, if its ETag is still that; "" for any.
func (c *client) getObject(ctx context.Context, key, tag string) ([]byte, http.Header, error) {
	r := request{op: "GET", key: key, head: http.Header{}, count: &c.made.get, most: disk.MaxSize}
	if tag != "" {
		r.head.Set("If-Match", tag)
	}
	a, err := c.doRequest(ctx, r)
	return a.body, a.head, err
}

// getPart reads bytes of an object, if its ETag is still that.
func (c *client) getPart(ctx context.Context, key, tag string, from, to int64) ([]byte, error) {
	r := request{op: "GET", key: key, head: http.Header{}, count: &c.made.get, most: to - from}
	r.head.Set("If-Match", tag)
	r.head.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to-1))
	a, err := c.doRequest(ctx, r)
	if err == nil && int64(len(a.body)) != to-from {
		err = c.explainError(&r, io.ErrUnexpectedEOF)
	}
	return a.body, err
}

// headObject looks at an object.
func (c *client) headObject(ctx context.Context, key string) (object, http.Header, error) {
	a, err := c.doRequest(ctx, request{op: "HEAD", key: key, count: &c.made.head})
	return headOf(a.head), a.head, err
}

// putObject writes an object where its name is free, or where it has the ETag still. The error is
// disk.ErrChanged where that is not so. A put that was made twice, because no answer came of
// the first, may find its own work: that is looked at.
func (c *client) putObject(ctx context.Context, key, tag string, body []byte, head http.Header) (string, error) {
	r := request{op: "PUT", key: key, head: head.Clone(), body: body, count: &c.made.put}
	if r.head == nil {
		r.head = http.Header{}
	}
	setCondition(r.head, tag)
	a, err := c.doRequest(ctx, r)
	if a.again && errors.Is(err, disk.ErrChanged) || a.again && tag != "" && hasStatus(err, http.StatusNotFound) {
		if now, h, failed := c.getObject(ctx, key, ""); failed == nil && bytes.Equal(now, body) {
			return h.Get("Etag"), nil
		}
	}
	return a.head.Get("Etag"), err
}

// setCondition has a request refused where the name is not free, or has not the ETag.
func setCondition(h http.Header, tag string) {
	if tag == "" {
		h.Set("If-None-Match", "*")
		return
	}
	h.Set("If-Match", tag)
}

// removeObject deletes an object that has the ETag still. The error is disk.ErrChanged where it has
// not. One that is gone after a request that was made twice was taken by the first.
func (c *client) removeObject(ctx context.Context, key, tag string) error {
	r := request{op: "DELETE", key: key, head: http.Header{}, count: &c.made.remove}
	setCondition(r.head, tag)
	a, err := c.doRequest(ctx, r)
	if a.again && (hasStatus(err, http.StatusNotFound) || errors.Is(err, disk.ErrChanged)) {
		if _, _, gone := c.headObject(ctx, key); hasStatus(gone, http.StatusNotFound) {
			return nil
		}
	}
	return err
}
