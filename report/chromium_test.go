//go:build unix

package report_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"hindcast/store/storetest/skip"
)

// browserVariable names the browser of the tests. Where it is set, a browser that cannot be
// driven is a failure.
const browserVariable = "HINDCAST_BROWSER"

// browser is a headless Chromium that is driven through a pipe by the DevTools protocol: each
// message is JSON and a zero byte. A library for it would speak the same; a page of ours
// takes a dozen of its messages.
type browser struct {
	t       *testing.T
	to      io.WriteCloser
	from    *bufio.Reader
	session string
	last    int
	// events are those that came while an answer was waited for.
	events []event
}

type event struct {
	Method string
	Params json.RawMessage
}

// startBrowser starts a browser with a page, or skips the test where there is none.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	name := os.Getenv(browserVariable)
	if name == "" {
		for _, known := range []string{"chromium", "chromium-browser"} {
			if path, err := exec.LookPath(known); err == nil && name == "" {
				name = path
			}
		}
		if name == "" {
			skip.Missing(t, "there is no Chromium: install one, or name it by %s", browserVariable)
		}
	}
	read, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	theirs, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	home, err := os.MkdirTemp("", "") // t.TempDir has the test's name: too long for the socket of a browser
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	cmd := exec.CommandContext(ctx, name, "--headless", "--remote-debugging-pipe", "--user-data-dir="+filepath.Join(home, "data"), "--no-first-run", "--disable-gpu",
		"--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--window-size=1400,900")
	if os.Getuid() == 0 {
		cmd.Args = append(cmd.Args, "--no-sandbox") // it starts for root in no other way
	}
	cmd.Args = append(cmd.Args, "about:blank")
	cmd.ExtraFiles = []*os.File{read, write} // 3 is what it reads, 4 what it writes
	// It writes crash reports and sockets below these folders.
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_RUNTIME_DIR="+home, "XDG_DATA_HOME="+home)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatalf("start %s: %v", name, err)
	}
	read.Close()
	write.Close()
	b := &browser{t: t, to: ours, from: bufio.NewReaderSize(theirs, 1<<20)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%.2000s", said.String())
		}
		ours.Close()
		cancel()
		_ = cmd.Wait() // it was killed
		theirs.Close()
	})
	var target struct{ TargetID, SessionID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call sends a command and waits for its answer.
func (b *browser) call(method string, params map[string]any, answer any) {
	b.t.Helper()
	b.last++
	message := map[string]any{"id": b.last, "method": method, "params": params}
	if params == nil {
		message["params"] = map[string]any{}
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	data, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(data, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		var m struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
			event
		}
		b.receive(&m)
		switch {
		case m.ID == b.last && m.Error != nil:
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		case m.ID == b.last:
			if answer != nil {
				if err := json.Unmarshal(m.Result, answer); err != nil {
					b.t.Fatalf("%s: %v: %s", method, err, m.Result)
				}
			}
			return
		case m.Method != "":
			b.events = append(b.events, m.event)
		}
	}
}

func (b *browser) receive(message any) {
	b.t.Helper()
	data, err := b.from.ReadBytes(0)
	if err == nil {
		err = json.Unmarshal(bytes.TrimSuffix(data, []byte{0}), message)
	}
	if err != nil {
		b.t.Fatalf("the browser: %v", err)
	}
}

// open opens a page and waits until it is loaded.
func (b *browser) open(url string) {
	b.t.Helper()
	loaded := func(e event) bool { return e.Method == "Page.loadEventFired" }
	before := len(b.events)
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	for !slices.ContainsFunc(b.events[before:], loaded) {
		var e event
		b.receive(&e)
		b.events = append(b.events, e)
	}
}

// value returns what an expression is in the page, once it has been drawn.
func value[T any](b *browser, expression string) (v T) {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value T }
		ExceptionDetails *struct{ Text string }
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &answer)
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, answer.ExceptionDetails.Text)
	}
	return answer.Result.Value
}

// click clicks on an element in its middle, as a mouse does.
func (b *browser) click(selector string) {
	b.t.Helper()
	at := value[[]float64](b, fmt.Sprintf("(() => { const e = document.querySelector(%q); e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()", selector))
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1}, nil)
	}
}

// press presses a key.
func (b *browser) press(key string) {
	b.t.Helper()
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": key, "text": key}, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}

// happened returns the parameters of the events of a method.
func (b *browser) happened(method string) (list []string) {
	for _, e := range b.events {
		if e.Method == method {
			list = append(list, cmp.Or(string(e.Params), "{}"))
		}
	}
	return list
}
