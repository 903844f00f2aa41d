package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hindcast/model/wire"
	"hindcast/store"
	"hindcast/store/native/typed"
)

// Store is a store that a Handler can serve: the port, and the seed's interface of raw
// states on the same sessions.
type Store interface {
	store.Store
	typed.Scoped[json.RawMessage]
}

// Agent is a store with the name of the agent whose sessions it keeps. Several
// agents may share a store.
type Agent struct {
	// Name is a part of the keys of actions: not empty, and without a slash.
	Name  string
	Store Store
}

// Handler answers the reflection API for some agents. It is an http.Handler to
// be mounted at the root. Use New.
type Handler struct {
	mux     *http.ServeMux
	stores  map[string]Store
	actions []byte
	hosts   []string
	// epoch tells the cursors of this process from those of any other that was
	// behind the same address.
	epoch int64
	// readTimeout bounds how long a client may take to send its request,
	// writeTimeout how long it may take to receive the next chunk of the answer.
	readTimeout, writeTimeout time.Duration
}

// An Option changes how New makes a Handler.
type Option func(*Handler)

// AllowHost lets requests in that name this host, and pages that come from it,
// besides those of loopback. It is for a handler behind something that checks
// who asks, because the handler does not: a client that sends that name can read
// every state.
func AllowHost(name string) Option {
	return func(h *Handler) { h.hosts = append(h.hosts, strings.ToLower(name)) }
}

// New returns a handler of the stores of these agents. The error names an agent
// that cannot be served: no store, no name, a slash in the name, or a name that
// is there twice.
func New(agents []Agent, options ...Option) (*Handler, error) {
	h := &Handler{
		mux: http.NewServeMux(), stores: make(map[string]Store, len(agents)),
		epoch:       rand.Int64N(1 << 52), // a number of JSON is exact up to 2⁵³
		readTimeout: 10 * time.Second, writeTimeout: 10 * time.Second,
	}
	descriptors := map[string]wire.Descriptor{}
	for _, a := range agents {
		switch _, there := h.stores[a.Name]; {
		case a.Name == "" || strings.Contains(a.Name, "/"):
			return nil, fmt.Errorf("reflection: serve agent %q: a name is not empty and has no slash", a.Name)
		case there:
			return nil, fmt.Errorf("reflection: serve agent %q: it is there twice", a.Name)
		case a.Store == nil:
			return nil, fmt.Errorf("reflection: serve agent %q: it has no store", a.Name)
		}
		h.stores[a.Name] = a.Store
		for _, name := range wire.Names() {
			if h.findAction(a.Store, name) != nil {
				d := wire.Describe(a.Name, name)
				descriptors[d.Key] = d
			}
		}
	}
	var err error
	if h.actions, err = json.Marshal(descriptors); err != nil {
		return nil, fmt.Errorf("reflection: describe the actions: %w", err)
	}
	for _, o := range options {
		o(h)
	}
	h.mux.HandleFunc("GET "+wire.HealthPath, h.serveHealth)
	h.mux.HandleFunc("GET "+wire.ActionsPath, h.serveList)
	h.mux.HandleFunc("POST "+wire.RunPath, h.runAction)
	return h, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if why := h.refusalReason(r); why != "" {
		http.Error(w, why, http.StatusForbidden)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// refusalReason says why a request is not answered at all, or "".
//
// A page in a browser on this machine can reach a loopback port, and the person
// who opened the page need not know. It cannot choose its Host: if its own name
// was made to point at 127.0.0.1 (DNS rebinding) that name stands there. Nor can
// it hide its Origin when it asks across origins.
func (h *Handler) refusalReason(r *http.Request) string {
	if host := hostname(r.Host); !h.allowsHost(host) {
		return fmt.Sprintf("the host %.80q is not this machine's loopback", host)
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || !h.allowsHost(u.Hostname()) {
			return fmt.Sprintf("the origin %.80q is not this machine's loopback", origin)
		}
	}
	return ""
}

func (h *Handler) allowsHost(host string) bool {
	return wire.IsLoopback(host) || slices.Contains(h.hosts, strings.ToLower(host))
}

// hostname returns a host without its port.
func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

// serveHealth says that the process lives. A client that asks for a runtime by its id
// means another: Genkit's tools read ids in files that a process leaves behind
// when it is killed, and its port may be ours now.
func (h *Handler) serveHealth(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("id") {
		http.Error(w, "Invalid runtime ID", http.StatusServiceUnavailable)
	}
}

// readBody reads a request's body. The deadline is for the body alone: the
// server drops it when the body ends. Where none can be set, as in a test
// without a network, no client is held.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.readTimeout))
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
}

func (h *Handler) serveList(w http.ResponseWriter, _ *http.Request) {
	h.sendAnswer(w, bytesOf(h.actions))
}

// maxRequest bounds the body of a request: ids are short.
const maxRequest = 1 << 20

// runAction runs an action. Errors of actions have the status 200, as Genkit's do;
// what is no call at all has another.
func (h *Handler) runAction(w http.ResponseWriter, r *http.Request) {
	// Genkit takes text/plain too, but a page of any origin may send that without asking (a "simple
	// request"). For application/json a browser asks first, and never gets permission.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "the body has to be application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := h.readBody(w, r)
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		http.Error(w, fmt.Sprintf("the request is longer than %d bytes", tooLong.Limit), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "the request was not received whole", http.StatusBadRequest)
		return
	}
	give, err := h.runRequest(r.Context(), body)
	if err != nil {
		give = bytesOf(wire.AppendError(nil, asError(err)))
	} else {
		give = sequence(bytesOf([]byte(wire.ResultOpen)), give, bytesOf([]byte(wire.ResultClose)))
	}
	h.sendAnswer(w, give)
}
