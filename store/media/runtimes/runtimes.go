// Package runtimes talks to processes in which agents of Genkit run, over the
// reflection API that they serve to this machine while they are developed: it finds
// them, asks which agents they have, and has one take a turn.
//
// A turn runs models and tools. Nothing here starts one by itself: the caller of
// [Runtime.Take] has shown a plan that says so, and was told to go on. The package
// only ever reaches this machine, follows no redirect, asks no proxy, and bounds
// what it takes of an answer.
package runtimes

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hindcast/model/printable"
	"hindcast/model/wire"
)

// ErrRemote: the address is not one of this machine.
var ErrRemote = errors.New("only a process on this machine is asked to run an agent")

// ErrCutOff: the answer ended before the turn did, as far as is known.
var ErrCutOff = errors.New("the answer ended before its result: the turn may be running still, or be done; look at the session")

const (
	// maxLine and maxAnswer bound one line and all of an answer, in bytes, and
	// maxActions the list of actions.
	maxLine    = 64 << 20
	maxAnswer  = 1 << 30
	maxActions = 16 << 20
	mostShown  = 4 << 10

	dialTimeout = 5 * time.Second
	// askTimeout bounds a question that runs nothing.
	askTimeout = 10 * time.Second

	// mostFiles and maxFile bound what is looked at in a folder of runtimes.
	mostFiles = 100
	maxFile   = 64 << 10
)

// Runtime is one process. It is safe for concurrent use. Use New.
type Runtime struct {
	at     *url.URL
	client *http.Client
	// id is the name by which the meant process calls itself, "" if that is not known.
	id string
}

// New returns the process at an address, such as http://127.0.0.1:3100. Nothing is
// asked yet. The error is ErrRemote for a host that is not this machine.
func New(address string) (*Runtime, error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("runtimes: %.200q is no URL: %w", address, err)
	}
	if at.Scheme != "http" || at.User != nil || at.RawQuery != "" || at.Fragment != "" || !wire.IsLoopback(at.Hostname()) {
		return nil, fmt.Errorf("runtimes: %.200q: %w", address, ErrRemote)
	}
	// What "localhost" resolves to is looked at as well.
	dialer := &net.Dialer{Timeout: dialTimeout, Control: func(_, to string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(to); err != nil || !at.Addr().IsLoopback() {
			return ErrRemote
		}
		return nil
	}}
	return &Runtime{at: at, client: &http.Client{
		Transport:     &http.Transport{DialContext: dialer.DialContext, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Address returns the URL of the process.
func (r *Runtime) Address() string { return r.at.String() }

// Agents returns the names of its agents, in order.
func (r *Runtime) Agents(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var names []string
	if err := r.isThere(ctx); err != nil {
		return nil, fmt.Errorf("runtimes: ask %s for its agents: %w", r.at, err)
	}
	err := r.doRequest(ctx, http.MethodGet, wire.ActionsPath, "", nil, func(body io.Reader) error {
		list, err := wire.ReadActions(io.LimitReader(body, maxActions))
		for key := range list {
			if name, ok := strings.CutPrefix(key, "/agent/"); ok {
				names = append(names, name)
			}
		}
		return err
	})
	slices.Sort(names)
	if err != nil {
		return nil, fmt.Errorf("runtimes: ask %s for its agents: %w", r.at, err)
	}
	return names, nil
}

// ErrAnother: at the address is not the process that wrote itself down. One that was
// killed leaves its file behind, and another project's may have got its port since.
var ErrAnother = errors.New("the process has ended, and another one may be at its address")

// isThere asks whether the process is the one that is meant, as the tools of Genkit
// do: that of another id answers with a status of its own. Python's does not look.
func (r *Runtime) isThere(ctx context.Context) error {
	if r.id == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	err := r.doRequest(ctx, http.MethodGet, wire.HealthPath, url.Values{"id": {r.id}}.Encode(), nil, func(io.Reader) error { return nil })
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", ErrAnother, err)
	}
	return err
}

// Turn is a task for an agent: go on from a snapshot with a text of the user's.
type Turn struct {
	Agent, Snapshot, Text string
}

// Output is the result of a turn.
type Output struct {
	// Snapshot is the one in which it ended, "" where the agent kept none.
	Snapshot string `json:"snapshotId"`
	Session  string `json:"sessionId"`
	// FinishReason is "stop", "interrupted", "failed", …
	FinishReason string `json:"finishReason"`
	// Failure is why the turn failed, nil if it did not.
	Failure *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Take has an agent take a turn and waits for its end, which the context can
// bring about earlier: the process then breaks the turn off. What it did until then
// stays done. The error is a *wire.Error where the process answers with one, though
// it does so with the status 200, ErrCutOff, and ErrAnother, before anything ran.
func (r *Runtime) Take(ctx context.Context, t Turn) (Output, error) {
	out, err := r.takeTurn(ctx, t)
	if err != nil {
		return out, fmt.Errorf("runtimes: run agent %.80q at %s: %w", t.Agent, r.at, err)
	}
	return out, nil
}

func (r *Runtime) takeTurn(ctx context.Context, t Turn) (out Output, err error) {
	if err := r.isThere(ctx); err != nil {
		return out, err
	}
	type part struct {
		Text string `json:"text"`
	}
	type message struct {
		Role    string `json:"role"`
		Content []part `json:"content"`
	}
	body, err := json.Marshal(struct {
		Key  string            `json:"key"`
		Init map[string]string `json:"init"`
		In   map[string]any    `json:"input"`
	}{"/agent/" + t.Agent, map[string]string{"snapshotId": t.Snapshot}, map[string]any{"message": message{"user", []part{{t.Text}}}}})
	if err != nil {
		return out, err
	}
	err = r.doRequest(ctx, http.MethodPost, wire.RunPath, "stream=true", body, func(body io.Reader) (err error) {
		out, err = readOutput(io.LimitReader(body, maxAnswer))
		return err
	})
	if err == nil && out.Failure != nil {
		err = fmt.Errorf("the turn failed: %.500s", printable.String(out.Failure.Message))
	}
	if err == nil && (out.FinishReason == "failed" || out.FinishReason == "aborted") {
		err = fmt.Errorf("the turn ended as %s", out.FinishReason)
	}
	return out, err
}

// readOutput passes over what a turn streams, one JSON value a line, up to the
// line that has its result.
func readOutput(body io.Reader) (out Output, err error) {
	lines := bufio.NewReaderSize(body, 64<<10)
	for {
		line, err := readLine(lines)
		if len(bytes.TrimSpace(line)) > 0 {
			var last struct {
				Result json.RawMessage `json:"result"`
				Error  json.RawMessage `json:"error"`
			}
			if wrong := json.Unmarshal(line, &last); wrong != nil {
				if err != nil {
					return out, fmt.Errorf("%w (%w)", ErrCutOff, wrong)
				}
				return out, fmt.Errorf("a line of the answer is not the JSON of a reflection API: %w", wrong)
			}
			if last.Result != nil || last.Error != nil {
				return out, wire.ReadAnswer(bytes.NewReader(line), func(dec *json.Decoder) error { return dec.Decode(&out) })
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return out, ErrCutOff
		case err != nil:
			return out, err
		}
	}
}

var errLong = fmt.Errorf("a line of the answer is longer than %d MiB", maxLine>>20)

// readLine reads up to the end of a line.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, errLong
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// doRequest sends a request and has its answer read.
func (r *Runtime) doRequest(ctx context.Context, method, path, query string, body []byte, read func(io.Reader) error) error {
	at := r.at.JoinPath(path)
	at.RawQuery = query
	request, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "hindcast")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := r.client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err
		}
		return fmt.Errorf("there is no answer: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, mostShown)) // what can be read says enough
		if e, ok := wire.ReadError(text); ok {
			return fmt.Errorf("it answers %s: %w", printable.String(answer.Status), e)
		}
		return fmt.Errorf("it answers %s: %.200s", printable.String(answer.Status), printable.String(strings.TrimSpace(string(text))))
	}
	err = read(answer.Body)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// upward bounds how far up from a folder of rows its project is looked for.
const upward = 8

// Find returns the processes of the project that a folder is in, which they wrote
// down in .genkit/runtimes, whether they still live or not. A file that names
// another machine is passed over. A project may have no processes.
func Find(dir string) []*Runtime {
	at, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	for range upward {
		if list := readProcesses(filepath.Join(at, ".genkit", "runtimes")); len(list) > 0 {
			return list
		}
		up := filepath.Dir(at)
		if up == at {
			break
		}
		at = up
	}
	return nil
}

// isSame reports whether two may be one process, and has the other one know its id.
func (r *Runtime) isSame(other *Runtime) bool {
	if other.Address() != r.Address() || other.id != "" && r.id != "" && other.id != r.id {
		return false
	}
	other.id = cmp.Or(other.id, r.id)
	return true
}

// readProcesses returns the processes of a folder of runtimes, each once.
func readProcesses(dir string) (list []*Runtime) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	folder, err := root.Open(".")
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, err := folder.Readdirnames(mostFiles)
	if err != nil {
		return nil
	}
	slices.Sort(names)
	for _, name := range names {
		info, err := root.Lstat(name)
		if err != nil || !strings.HasSuffix(name, ".json") || !info.Mode().IsRegular() || info.Size() > maxFile {
			continue
		}
		data, err := root.ReadFile(name)
		if err != nil {
			continue
		}
		var said struct {
			ID  string `json:"id"`
			URL string `json:"reflectionServerUrl"`
		}
		if json.Unmarshal(data, &said) != nil {
			continue
		}
		r, err := New(said.URL)
		if err != nil {
			continue
		}
		r.id = said.ID
		if !slices.ContainsFunc(list, r.isSame) {
			list = append(list, r)
		}
	}
	return list
}
