package kinds_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"hindcast/store/storetest/skip"
)

// sdkParts are what testdata/interop/install makes, each with the list of what it
// is made of.
var sdkParts = map[string]string{
	"python":     "python/requirements.txt",
	"typescript": "typescript/package-lock.json",
	"genkit":     "genkit/go.sum",
	"genkit-js":  "genkit-js/package-lock.json",

	"genkit-python": "genkit-python/requirements.txt",
	"langgraph":     "langgraph/requirements.txt",
	"s3":            "s3/requirements.txt",
	"harbor":        "trajectory/requirements.txt",

	"agent-framework": "agent-framework/requirements.txt",
	"crewai":          "crewai/requirements.txt",
	"adk":             "adk/requirements.txt",
	"agno":            "agno/requirements.txt",
	"openai-agents":   "openai-agents/requirements.txt",
}

// sdks returns the folder in which the real SDKs are. Where they are not, the test is
// skipped; but not where HINDCAST_SDKS names the folder, because then somebody
// counts on them.
func sdks(t *testing.T) string {
	t.Helper()
	lacks := t.Fatalf
	dir := os.Getenv("HINDCAST_SDKS")
	if dir == "" {
		lacks = func(format string, args ...any) { t.Helper(); skip.Missing(t, format, args...) }
		cache, err := os.UserCacheDir()
		if err != nil {
			lacks("there is no folder for the SDKs: %v; HINDCAST_SDKS names one", err)
		}
		dir = filepath.Join(cache, "hindcast-sdks")
	}
	for part, list := range sdkParts {
		want, err := os.ReadFile(filepath.Join(testdata, "interop", list))
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(filepath.Join(dir, part, "installed"))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(have, want) {
			lacks("the real SDKs are not in %s, or not in the versions that are asked for (%s): testdata/interop/install puts them there", dir, list)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// drivers starts programs under testdata/interop, all if none is named, each in a
// process of its own that answers until the test ends.
func drivers(t *testing.T, sdks string, names ...string) map[string]*driver {
	t.Helper()
	at, err := filepath.Abs(filepath.Join(testdata, "interop"))
	if err != nil {
		t.Fatal(err)
	}
	node := nodeOf(sdks)
	start := map[string]func() *driver{
		"python":     func() *driver { return pythonDriver(t, sdks, "") },
		"typescript": func() *driver { return typeScriptDriver(t, sdks, "") },
		"genkit-js": func() *driver {
			return startDriver(t, filepath.Join(sdks, "genkit-js"), node, filepath.Join(at, "genkit-js", "driver.mjs"))
		},
		"genkit-python": func() *driver {
			return startDriver(t, sdks, filepath.Join(sdks, "genkit-python", "venv", "bin", "python"), filepath.Join(at, "genkit-python", "driver.py"))
		},
		"genkit": func() *driver {
			barista := filepath.Join(t.TempDir(), "driver")
			if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", filepath.Join(at, "genkit"), "-o", barista, ".").CombinedOutput(); err != nil {
				t.Fatalf("go build: %v: %s", err, out)
			}
			return startDriver(t, sdks, barista)
		},
	}
	started := make(map[string]*driver)
	for name, start := range start {
		if len(names) == 0 || slices.Contains(names, name) {
			started[name] = start()
		}
	}
	return started
}

// nodeOf returns the Node that is installed with the SDKs, or else that of the machine,
// which is then new enough.
func nodeOf(sdks string) string {
	node := filepath.Join(sdks, "node", "node_modules", "node", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		return "node"
	}
	return node
}

// olderDrivers start the driver of an older version of an SDK.
var olderDrivers = map[string]func(t *testing.T, sdks, version string) *driver{"python": pythonDriver, "typescript": typeScriptDriver}

// typeScriptDriver starts the driver of an older version of the SDK for TypeScript; "" is
// the newest.
func typeScriptDriver(t *testing.T, sdks, version string) *driver {
	t.Helper()
	driver, err := filepath.Abs(filepath.Join(testdata, "interop", "typescript", "driver.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	packages := filepath.Join(sdks, "typescript")
	if version != "" {
		packages = filepath.Join(sdks, "typescript-older", version)
		if _, err := os.Stat(packages); err != nil {
			t.Fatalf("testdata/interop/install puts it there: %v", err)
		}
	}
	return startDriver(t, packages, nodeOf(sdks), driver)
}

// pythonDriver starts the driver of an older version of the SDK for Python; "" is the
// newest.
func pythonDriver(t *testing.T, sdks, version string) *driver {
	t.Helper()
	driver, err := filepath.Abs(filepath.Join(testdata, "interop", "python", "driver.py"))
	if err != nil {
		t.Fatal(err)
	}
	python := []string{filepath.Join(sdks, "python", "venv", "bin", "python"), driver}
	if version != "" {
		older := filepath.Join(sdks, "python-older", version)
		if _, err := os.Stat(older); err != nil {
			t.Fatalf("testdata/interop/install puts it there: %v", err)
		}
		python = append([]string{"env", "PYTHONPATH=" + older}, python...)
	}
	return startDriver(t, sdks, python[0], python[1:]...)
}

// driver is a program that drives one SDK. It does one thing at a time; several may
// ask it at once.
type driver struct {
	sdk   string // its name and version
	hello answer

	mu   sync.Mutex
	in   io.WriteCloser
	out  *bufio.Reader
	errs bytes.Buffer
}

func startDriver(t *testing.T, dir, name string, args ...string) *driver {
	t.Helper()
	d := &driver{}
	cmd := exec.Command(name, args...) //nolint:gosec // programs of this repository
	cmd.Dir, cmd.Stderr = dir, &d.errs
	// What the SDKs keep for their user goes where nobody minds.
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "PYTHONDONTWRITEBYTECODE=1", "OTEL_SDK_DISABLED=true", "GENKIT_ENV=prod")
	var err error
	if d.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the driver of %s: %v: %s", d.sdk, err, d.errs.Bytes())
		}
	})
	d.out = bufio.NewReader(out)
	hello, err := d.answer()
	if err != nil {
		t.Fatalf("the driver %s does not start: %v", name, err)
	}
	d.sdk, d.hello = hello.SDK, hello
	return d
}

// answer is what a driver answers, and messages in it are as JSON has them.
type answer struct {
	SDK    string `json:"sdk"`
	Broken string `json:"broken"`

	Written []written `json:"written"`

	// Loaded and State are what an agent holds when it has started, Seen what its
	// model was sent each time, Tools what ran.
	Loaded []any    `json:"loaded"`
	State  any      `json:"state"`
	Seen   [][]any  `json:"seen"`
	Tools  []string `json:"tools"`
	Error  string   `json:"error"`
	// Refused is the error of a text, where the start was none.
	Refused string `json:"refused"`
	// Ran are the nodes of a Graph or Swarm that ran, SeenBy what the model of each
	// was sent, Status the end.
	Ran    []string           `json:"ran"`
	SeenBy map[string][][]any `json:"seenBy"`
	Status string             `json:"status"`
	// Snapshot is the row that a turn of Genkit left, or the latest of a session.
	Snapshot string `json:"snapshot"`
	// Endpoint and Address lead to the bucket of a server, Objects are what is in it.
	Endpoint string            `json:"endpoint"`
	Address  string            `json:"address"`
	Objects  map[string]object `json:"objects"`
}

// object is one of a bucket: its type, and its bytes in base64.
type object struct {
	Type string `json:"type"`
	Data string `json:"data"`
}

// written is a session that a driver wrote, or one agent of it.
type written struct {
	Scenario string  `json:"scenario"`
	Session  string  `json:"session"`
	Agent    string  `json:"agent"`
	Seen     [][]any `json:"seen"`
}

// do has a driver do something.
func (d *driver) do(t *testing.T, command map[string]any) answer {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	line, err := json.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if _, err = d.in.Write(append(line, '\n')); err == nil {
		a, err = d.answer()
	}
	if err == nil && a.Broken != "" {
		err = errors.New(a.Broken)
	}
	if err != nil {
		t.Fatalf("%s: %s: %v", d.sdk, line, err)
	}
	return a
}

func (d *driver) answer() (answer, error) {
	var a answer
	line, err := d.out.ReadBytes('\n')
	if err != nil {
		return a, fmt.Errorf("%w: %s", err, d.errs.Bytes())
	}
	return a, decodeJSON(line, &a)
}

// decodeJSON decodes JSON with its numbers as they are written.
func decodeJSON(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(into)
}
