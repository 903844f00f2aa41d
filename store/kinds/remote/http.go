package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"hindcast/model/printable"
	"hindcast/model/wire"
)

// maxAnswer bounds an answer, and with it the memory that a server can make us
// take; maxActions bounds the list of actions. mostShown bounds what is looked
// at in an answer that is an error.
const (
	maxAnswer  = 1 << 30
	maxActions = 16 << 20
	mostShown  = 4 << 10
)

// leastListed is the least size that counts for one element of a list, in bytes of an answer. It is about the
// memory that an element needs, however short its JSON is.
const leastListed = 256

// How long a server may take to be reached, to begin its answer, and to come to
// the end of it. The context can end each earlier.
const (
	dialTimeout   = 5 * time.Second
	answerTimeout = 30 * time.Second
	wholeTimeout  = 5 * time.Minute
)

// base is a server's address.
type base struct {
	*url.URL
	// loopback says that the connection may not leave this machine.
	loopback bool
}

// parseAddress reads an address. The error is ErrRemote for plain http to a host that
// is not loopback.
func parseAddress(address string) (base, error) {
	u, err := url.Parse(address)
	if err != nil {
		return base{}, fmt.Errorf("the address is no URL: %w", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return base{}, errors.New("the address has to begin with http:// or https://")
	case u.Host == "":
		return base{}, errors.New("the address names no host")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return base{}, errors.New("the address may have a host, a port and a path, and nothing else")
	case u.Scheme == "http" && !wire.IsLoopback(u.Hostname()):
		return base{}, ErrRemote
	}
	return base{u, u.Scheme == "http"}, nil
}

// newClient returns a client that follows no redirect: a server could send it
// anywhere. Where only this machine may be reached, what "localhost" resolves to
// is looked at as well, and no proxy is asked.
func newClient(at base) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout}
	transport := &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: answerTimeout,
		MaxResponseHeaderBytes: 64 << 10, ReadBufferSize: 64 << 10, IdleConnTimeout: time.Minute, DisableCompression: true,
	}
	if at.loopback {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			if to, err := netip.ParseAddrPort(address); err != nil || !to.Addr().IsLoopback() {
				return fmt.Errorf("%s: %w", address, ErrRemote)
			}
			return nil
		}
	} else {
		transport.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// runAction runs an action of an agent and has its result read as it comes. The error
// is a *wire.Error where the process answers with one.
func (s *Store) runAction(ctx context.Context, a *agent, action string, in wire.Input, result func(*json.Decoder) error) error {
	input, err := json.Marshal(in)
	if err != nil {
		return err
	}
	body, err := json.Marshal(wire.Call{Key: wire.Key(a.name, action), Input: input})
	if err != nil {
		return err
	}
	return s.doRequest(ctx, http.MethodPost, wire.RunPath, body, func(_ *http.Response, body *bounded) error {
		return wire.ReadAnswer(body, result)
	})
}

// listReader returns a function that reads lists element by element, until all lists together exceed the
// limit.
func (s *Store) listReader() func(*json.Decoder, func(*json.Decoder) error) error {
	room := 1 + s.limit/leastListed
	return func(dec *json.Decoder, element func(*json.Decoder) error) error {
		return wire.ReadList(dec, func(dec *json.Decoder) error {
			if room--; room < 0 {
				return ErrTooLong
			}
			return element(dec)
		})
	}
}

func (s *Store) getPath(ctx context.Context, path string, read func(*http.Response, *bounded) error) error {
	return s.doRequest(ctx, http.MethodGet, path, nil, read)
}

// doRequest sends a request and has its answer read if that is one. An error of read
// that is about the answer's JSON is put into words here.
func (s *Store) doRequest(ctx context.Context, method, path string, body []byte, read func(*http.Response, *bounded) error) error {
	if s.life.Over() {
		return errClosed
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.patience, fmt.Errorf("%w within %v", ErrTooSlow, s.patience))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "hindcast")
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return unreachableError(ctx, err)
	}
	defer answer.Body.Close()
	in := &bounded{r: answer.Body, left: s.limit}
	if answer.StatusCode != http.StatusOK {
		return refusalError(answer, in)
	}
	return describeAnswer(ctx, answer, read(answer, in))
}

// unreachableError describes why there is no answer. The caller adds the address.
func unreachableError(ctx context.Context, err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens there; is the agent running? %w", err)
	}
	return fmt.Errorf("there is no answer: %w", err)
}

// refusalError words an answer whose status is not 200.
func refusalError(answer *http.Response, body io.Reader) error {
	status := printable.String(answer.Status)
	if to := answer.Header.Get("Location"); to != "" && answer.StatusCode/100 == 3 {
		return fmt.Errorf("the server answers %s and names %.200q, which is not followed", status, to)
	}
	text, _ := io.ReadAll(io.LimitReader(body, mostShown)) // what can be read says enough
	if e, ok := wire.ReadError(text); ok {
		return fmt.Errorf("the server answers %s: %w", status, e)
	}
	if kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); kind != "text/plain" || len(bytes.TrimSpace(text)) == 0 {
		return fmt.Errorf("the server answers %s (%.80q), which is no answer of a reflection API", status, kind)
	}
	return fmt.Errorf("the server answers %s: %.200s", status, printable.String(strings.TrimSpace(string(text))))
}

// describeAnswer words an error met in the JSON of an answer.
func describeAnswer(ctx context.Context, answer *http.Response, err error) error {
	var syntax *json.SyntaxError
	var network net.Error
	var date *time.ParseError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network):
		return fmt.Errorf("the answer was cut off: %w", err)
	case errors.As(err, &syntax):
		return fmt.Errorf("the answer (%.80q) is not the JSON of a reflection API: %w", answer.Header.Get("Content-Type"), err)
	case errors.As(err, &date): // package time quotes what it could not read, but for DEL
		return errors.New(printable.String(err.Error()))
	}
	return err
}

// bounded reads up to left bytes; more is ErrTooLong, from then on.
type bounded struct {
	r    io.Reader
	left int64
	err  error
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	// One more than is allowed tells the end from too much.
	n, err := b.r.Read(p[:min(int64(len(p)), b.left+1)])
	if int64(n) > b.left {
		n, err = int(b.left), ErrTooLong
	}
	b.left -= int64(n)
	b.err = err
	return n, err
}
