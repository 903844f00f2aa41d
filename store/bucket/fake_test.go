package bucket

import (
	"cmp"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is one bucket, "b", that holds to conditions as S3 documents them: of a put with
// If-None-Match: * or If-Match, of a delete with If-Match, and of the source of a copy.
type server struct {
	*httptest.Server

	mu      sync.Mutex
	objects map[string]stored
	// sorted are the keys in order, as long as there are as many.
	sorted []string
	// asked are the requests, as "PUT key".
	asked []string
	// before is called with each request before it is carried out, and may answer it; nil for
	// nothing. It may call the server's own methods.
	before func(n int, what string, w http.ResponseWriter) (answered bool)
	// after is called once it is carried out, before the answer is sent: true cuts the
	// connection instead.
	after func(n int, what string) (cut bool)
	// takes is how long each request takes, and now the time that the server tells.
	takes time.Duration
	now   func() time.Time
	// lax has it pass over conditions.
	lax bool
}

type stored struct {
	data     []byte
	head     http.Header
	tag      string
	modified time.Time
}

func serve(t testing.TB) *server {
	s := &server{objects: map[string]stored{}, now: time.Now}
	s.Server = httptest.NewServer(http.HandlerFunc(s.handle))
	t.Cleanup(s.Close)
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none"} {
		if t, ok := t.(interface{ Setenv(name, value string) }); ok {
			t.Setenv(name, value)
		}
	}
	return s
}

// put writes an object as another program does, without a condition.
func (s *server) put(key, data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(key, []byte(data), http.Header{"Content-Type": {"application/json"}})
}

func (s *server) store(key string, data []byte, head http.Header) stored {
	sum := md5.Sum(data)
	o := stored{data, head, `"` + hex.EncodeToString(sum[:]) + `"`, s.now().UTC().Truncate(time.Second)}
	s.objects[key], s.sorted = o, nil
	return o
}

// all returns the objects, those below .hindcast left out: their bytes and their type.
func (s *server) all() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]string{}
	for key, o := range s.objects {
		if !strings.Contains(key, ".hindcast/") {
			all[key] = o.head.Get("Content-Type") + " " + o.head.Get("X-Amz-Meta-Own") + " " + string(o.data)
		}
	}
	return all
}

// requests returns how many were made since the last call.
func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func (s *server) handle(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	before, after := s.before, s.after // a test may take them away while a request is under way
	s.mu.Unlock()
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/b"), "/")
	what := r.Method + " " + key
	if key == "" {
		what = "LIST " + r.URL.Query().Get("prefix")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	n := len(s.asked)
	s.asked = append(s.asked, what)
	s.mu.Unlock()
	time.Sleep(s.takes)
	if before != nil && before(n, what, w) {
		return
	}
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=key/") {
		refuse(w, http.StatusForbidden, "AccessDenied")
		return
	}
	if !strings.HasPrefix(r.URL.Path, "/b") {
		refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	answer := httptest.NewRecorder()
	s.mu.Lock()
	answer.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	s.carryOut(answer, r, key, body)
	s.mu.Unlock()
	if after != nil && after(n, what) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Close()
		}
		return
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
}

func (s *server) carryOut(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	old, there := s.objects[key]
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	if s.lax {
		match, none = "", ""
	}
	switch {
	case key == "":
		s.list(w, r.URL.Query())
	case match != "" && !there && r.Method != http.MethodDelete, (r.Method == http.MethodGet || r.Method == http.MethodHead) && !there:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	case match != "" && there && match != old.tag, match != "" && !there, none == "*" && there:
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		s.sorted = nil
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
		source, _ := url.PathUnescape(strings.TrimPrefix(r.Header.Get("X-Amz-Copy-Source"), "/b/"))
		from, found := s.objects[source]
		switch {
		case !found:
			refuse(w, http.StatusNotFound, "NoSuchKey")
		case from.tag != r.Header.Get("X-Amz-Copy-Source-If-Match"):
			refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		default:
			fmt.Fprintf(w, "<CopyObjectResult><ETag>%s</ETag></CopyObjectResult>", s.store(key, from.data, from.head).tag)
		}
	case r.Method == http.MethodPut:
		head := http.Header{}
		for name, values := range r.Header {
			if name == "Content-Type" || strings.HasPrefix(name, "X-Amz-Meta-") {
				head[name] = values
			}
		}
		w.Header().Set("Etag", s.store(key, body, head).tag)
	default:
		maps.Copy(w.Header(), old.head)
		w.Header().Set("Etag", old.tag)
		w.Header().Set("Last-Modified", old.modified.Format(http.TimeFormat))
		data, status := old.data, http.StatusOK
		if from, to, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-"); ok {
			a, _ := strconv.Atoi(from)
			b, _ := strconv.Atoi(to)
			data, status = data[a:min(b+1, len(data))], http.StatusPartialContent
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		w.WriteHeader(status)
		if r.Method == http.MethodGet {
			_, _ = w.Write(data)
		}
	}
}

type listAnswer struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string
	Contents              []listItem
	CommonPrefixes        []struct{ Prefix string }
}

type listItem struct {
	Key          string
	LastModified string
	ETag         string
	Size         int
}

// keys returns the keys from one on, in order.
func (s *server) keys(from string) []string {
	if s.sorted == nil {
		s.sorted = slices.Sorted(maps.Keys(s.objects))
	}
	at, _ := slices.BinarySearch(s.sorted, from)
	return s.sorted[at:]
}

func (s *server) list(w http.ResponseWriter, q url.Values) {
	prefix, delimiter := q.Get("prefix"), q.Get("delimiter")
	most, _ := strconv.Atoi(q.Get("max-keys"))
	after := cmp.Or(q.Get("continuation-token"), q.Get("start-after"))
	var l listAnswer
	last := ""
	for _, key := range s.keys(max(prefix, after)) {
		if !strings.HasPrefix(key, prefix) && key > prefix {
			break
		}
		if key <= after || !strings.HasPrefix(key, prefix) || last != "" && strings.HasSuffix(last, "/") && strings.HasPrefix(key, last) || strings.HasSuffix(after, "/") && delimiter != "" && strings.HasPrefix(key, after) {
			continue
		}
		if len(l.Contents)+len(l.CommonPrefixes) == most {
			l.IsTruncated, l.NextContinuationToken = true, last
			break
		}
		last = key
		if dir, _, below := strings.Cut(key[len(prefix):], "/"); below && delimiter == "/" {
			last = prefix + dir + "/"
			l.CommonPrefixes = append(l.CommonPrefixes, struct{ Prefix string }{url.QueryEscape(last)})
			continue
		}
		o := s.objects[key]
		l.Contents = append(l.Contents, listItem{url.QueryEscape(key), o.modified.Format("2006-01-02T15:04:05.000Z"), o.tag, len(o.data)})
	}
	text, err := xml.Marshal(l)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(text)
}
