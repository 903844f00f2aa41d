package resumetab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/tui/screentest"
)

// decode reads a state of testdata; the messages in them were written by the
// Strands Python SDK.
func decode(t testing.TB, state []byte) *conversation.Conversation {
	t.Helper()
	tape, err := jsontape.Parse(state)
	if err != nil {
		t.Fatal(err)
	}
	return conversation.Decode(tape)
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func prepare(t testing.TB, here Here) *Content {
	t.Helper()
	c, err := Prepare(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func show(t testing.TB, conv *conversation.Conversation, w, h int) *Pane {
	t.Helper()
	c := prepare(t, Here{Conversation: conv, Head: true})
	return screentest.Show(New(screentest.Colourless()), c, w, h)
}

func TestPane_looksAsDrawn(t *testing.T) {
	for _, name := range []string{"after-model", "after-tools", "turn-end", "interrupted", "stored", "refused"} {
		for _, w := range []int{20, 58, 100} {
			t.Run(fmt.Sprintf("%s %d", name, w), func(t *testing.T) {
				golden.RequireEqual(t, []byte(screentest.Draw(show(t, decode(t, read(t, name)), w, 40), 40)))
			})
		}
	}
}

func TestPane_givesTheExactPayload(t *testing.T) {
	for name, want := range map[string]string{
		"after-model": `{"checkpointResume":{"checkpoint":{"position":"after_model","cycle_index":0,"schema_version":"1.0"}}}`,
		"after-tools": `{"checkpointResume":{"checkpoint":{"position":"after_tools","cycle_index":0,"schema_version":"1.0"}}}`,
		"stored":      `{"checkpointResume":{"checkpoint":{"position":"after_model","cycle_index":0,"schema_version":"1.0"}}}`,
		"turn-end":    "",
		"refused":     "",
	} {
		got := prepare(t, Here{Conversation: decode(t, read(t, name))}).Payload()
		var compact bytes.Buffer
		if len(got) > 0 {
			if err := json.Compact(&compact, got); err != nil {
				t.Fatalf("%s: the payload is not JSON: %v: %s", name, err, got)
			}
		}
		if compact.String() != want {
			t.Errorf("%s: the payload is %s, not %s", name, got, want)
		}
	}
}

func TestPane_saysWhatACallNeedsFirst(t *testing.T) {
	conv := decode(t, read(t, "after-tools"))
	planned := []model.Resume{{Call: `agent("the planned one")`, Then: "goes on"}}
	for _, tc := range []struct {
		name       string
		here       Here
		want, call string
	}{
		{"head", Here{Head: true, Planned: planned}, " Go on from here\n", planned[0].Call},
		{"elsewhere", Here{Planned: planned}, " Go on from here, after a restore\n", planned[0].Call},
		{"nothing planned", Here{Head: true}, " agent(None)\n", "agent(None)"},
		{"refused", Here{Refused: errors.New("a writer is at work")}, " a writer is at work\n", "agent(None)"},
	} {
		tc.here.Conversation = conv
		c := prepare(t, tc.here)
		got := screentest.Draw(screentest.Show(New(screentest.Colourless()), c, 80, 40), 40)
		if !strings.Contains(got, tc.want) || len(c.Calls()) == 0 || c.Calls()[0] != tc.call {
			t.Errorf("%s: the calls are %q, and %q is not in\n%s", tc.name, c.Calls(), tc.want, got)
		}
	}
}

func TestPane_withoutAState(t *testing.T) {
	p := show(t, nil, 60, 5)
	if got := screentest.Draw(p, 5); !strings.Contains(got, "could not be read") {
		t.Errorf("on screen:\n%s", got)
	}
	p.Set(nil)
	if got := strings.TrimSpace(screentest.Draw(p, 5)); got != "" {
		t.Errorf("an empty tab shows %q", got)
	}
}

func TestPane_rowsAreExactAndClean(t *testing.T) {
	const hostile = `{"messages":[{"role":"user","content":[{"text":"x"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"\u001b[2J","name":"\u001b]52;c;aGk=\u0007\u202e","input":{"\u009b":"\u0000"}}}]}],"checkpoint":{"position":"after_model\u001b[2J","cycle_index":0,"schema_version":"1.0","app_data":{"\u202e":"\u001b"}}}`
	raw := strings.ReplaceAll(hostile, `\u202e`, "\u202e") // a bidi override may stand in JSON as it is
	for _, state := range []string{hostile, raw} {
		for w := range 120 {
			screentest.Exact(t, show(t, decode(t, []byte(state)), w, 50), w, 50)
		}
	}
}

func TestPrepare_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Prepare(ctx, Here{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
