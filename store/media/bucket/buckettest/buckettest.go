// Package buckettest is a server of S3 in the process of a test.
package buckettest

import (
	"cmp"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is one bucket, "b", that holds to conditions as S3 documents them: of a put with
// If-None-Match: * or If-Match, of a delete with If-Match, and of the source of a copy.
type Server struct {
	*httptest.Server

	// Mu is held while a request is carried out.
	Mu sync.Mutex
	// Objects are the objects in the bucket, by their keys.
	Objects map[string]Object
	// sorted are the keys in order, as long as there are as many.
	sorted []string
	// asked are the requests, as "PUT key".
	asked []string
	// Before is called with each request before it is carried out, and may answer it; nil for
	// nothing. It may call the server's own methods.
	Before func(n int, what string, w http.ResponseWriter) (answered bool)
	// After is called once it is carried out, before the answer is sent: true cuts the
	// connection instead.
	After func(n int, what string) (cut bool)
	// Takes is how long each request takes, and Now the time that the server tells.
	Takes time.Duration
	Now   func() time.Time
	// Lax has it pass over conditions.
	Lax bool
}

// Object is one object.
type Object struct {
	Data     []byte
	Head     http.Header
	Tag      string
	Modified time.Time
}

// Serve starts a server, and sets the environment so that it is reached by its URL alone.
func Serve(t testing.TB) *Server {
	s := &Server{Objects: map[string]Object{}, Now: time.Now}
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

// Put writes an object as another program does, without a condition.
func (s *Server) Put(key, data string) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.store(key, []byte(data), http.Header{"Content-Type": {"application/json"}})
}

func (s *Server) store(key string, data []byte, head http.Header) Object {
	sum := md5.Sum(data)
	o := Object{data, head, `"` + hex.EncodeToString(sum[:]) + `"`, s.Now().UTC().Truncate(time.Second)}
	s.Objects[key], s.sorted = o, nil
	return o
}

// Load puts the files of a folder below a prefix. They are an hour older there: else an agent
// seems to be at work.
func (s *Server) Load(t testing.TB, dir, prefix string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		below, failed := filepath.Rel(dir, name)
		info, gone := e.Info()
		if err = errors.Join(err, failed, gone); err != nil {
			return err
		}
		s.Put(path.Join(prefix, filepath.ToSlash(below)), string(data))
		s.Mu.Lock()
		defer s.Mu.Unlock()
		o := s.Objects[path.Join(prefix, filepath.ToSlash(below))]
		o.Modified = info.ModTime().Add(-time.Hour).UTC().Truncate(time.Second)
		s.Objects[path.Join(prefix, filepath.ToSlash(below))] = o
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// All returns the objects, those below .hindcast left out: their bytes and their type.
func (s *Server) All() map[string]string {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	all := map[string]string{}
	for key, o := range s.Objects {
		if !strings.Contains(key, ".hindcast/") {
			all[key] = o.Head.Get("Content-Type") + " " + o.Head.Get("X-Amz-Meta-Own") + " " + string(o.Data)
		}
	}
	return all
}

// Requests returns which were made since the last call.
func (s *Server) Requests() []string {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	s.Mu.Lock()
	before, after := s.Before, s.After // a test may take them away while a request is under way
	s.Mu.Unlock()
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/b"), "/")
	what := r.Method + " " + key
	if key == "" {
		what = "LIST " + r.URL.Query().Get("prefix")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.Mu.Lock()
	n := len(s.asked)
	s.asked = append(s.asked, what)
	s.Mu.Unlock()
	time.Sleep(s.Takes)
	if before != nil && before(n, what, w) {
		return
	}
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=key/") {
		Refuse(w, http.StatusForbidden, "AccessDenied")
		return
	}
	if !strings.HasPrefix(r.URL.Path, "/b") {
		Refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	answer := httptest.NewRecorder()
	s.Mu.Lock()
	answer.Header().Set("Date", s.Now().UTC().Format(http.TimeFormat))
	s.carryOut(answer, r, key, body)
	s.Mu.Unlock()
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

// Refuse answers a request with an error.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
}

func (s *Server) carryOut(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	old, there := s.Objects[key]
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	if s.Lax {
		match, none = "", ""
	}
	switch {
	case key == "":
		s.list(w, r.URL.Query())
	case match != "" && !there && r.Method != http.MethodDelete, (r.Method == http.MethodGet || r.Method == http.MethodHead) && !there:
		Refuse(w, http.StatusNotFound, "NoSuchKey")
	case match != "" && there && match != old.Tag, match != "" && !there, none == "*" && there:
		Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodDelete:
		delete(s.Objects, key)
		s.sorted = nil
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
		source, _ := url.PathUnescape(strings.TrimPrefix(r.Header.Get("X-Amz-Copy-Source"), "/b/"))
		from, found := s.Objects[source]
		switch {
		case !found:
			Refuse(w, http.StatusNotFound, "NoSuchKey")
		case from.Tag != r.Header.Get("X-Amz-Copy-Source-If-Match"):
			Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		default:
			fmt.Fprintf(w, "<CopyObjectResult><ETag>%s</ETag></CopyObjectResult>", s.store(key, from.Data, from.Head).Tag)
		}
	case r.Method == http.MethodPut:
		head := http.Header{}
		for name, values := range r.Header {
			if name == "Content-Type" || strings.HasPrefix(name, "X-Amz-Meta-") {
				head[name] = values
			}
		}
		w.Header().Set("Etag", s.store(key, body, head).Tag)
	default:
		maps.Copy(w.Header(), old.Head)
		w.Header().Set("Etag", old.Tag)
		w.Header().Set("Last-Modified", old.Modified.Format(http.TimeFormat))
		data, status := old.Data, http.StatusOK
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

// keys returns the keys from one on, in order.
func (s *Server) keys(from string) []string {
	if s.sorted == nil {
		s.sorted = slices.Sorted(maps.Keys(s.Objects))
	}
	at, _ := slices.BinarySearch(s.sorted, from)
	return s.sorted[at:]
}

func (s *Server) list(w http.ResponseWriter, q url.Values) {
	prefix, delimiter := q.Get("prefix"), q.Get("delimiter")
	most, _ := strconv.Atoi(q.Get("max-keys"))
	after := cmp.Or(q.Get("continuation-token"), q.Get("start-after"))
	var text strings.Builder // package xml takes longer than all that asks
	text.WriteString("<ListBucketResult>")
	listed, more := 0, ""
	last := ""
	for _, key := range s.keys(max(prefix, after)) {
		if !strings.HasPrefix(key, prefix) && key > prefix {
			break
		}
		if key <= after || !strings.HasPrefix(key, prefix) || last != "" && strings.HasSuffix(last, "/") && strings.HasPrefix(key, last) || strings.HasSuffix(after, "/") && delimiter != "" && strings.HasPrefix(key, after) {
			continue
		}
		if listed == most {
			more = last
			break
		}
		listed++
		last = key
		if dir, _, below := strings.Cut(key[len(prefix):], "/"); below && delimiter == "/" {
			last = prefix + dir + "/"
			fmt.Fprintf(&text, "<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>", url.QueryEscape(last))
			continue
		}
		o := s.Objects[key]
		for _, part := range []string{
			"<Contents><Key>", url.QueryEscape(key), "</Key><LastModified>", o.Modified.Format("2006-01-02T15:04:05.000Z"), "</LastModified><ETag>", strings.ReplaceAll(o.Tag, `"`, "&#34;"),
			"</ETag><Size>", strconv.Itoa(len(o.Data)), "</Size></Contents>",
		} {
			text.WriteString(part)
		}
	}
	fmt.Fprintf(&text, "<IsTruncated>%t</IsTruncated><NextContinuationToken>", more != "")
	_ = xml.EscapeText(&text, []byte(more)) // a Builder takes it
	text.WriteString("</NextContinuationToken></ListBucketResult>")
	_, _ = io.WriteString(w, text.String())
}
