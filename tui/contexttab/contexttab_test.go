package contexttab

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"hindcast/keymap"
	"hindcast/model/conversation"
	"hindcast/model/request"
	"hindcast/query"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// sentRequest returns a request with a body.
func sentRequest(t interface{ Fatal(...any) }, r request.Request) *query.Sent {
	o, err := request.NewOutline(r)
	if err != nil {
		t.Fatal(err)
	}
	return &query.Sent{Outline: o}
}

const (
	head    = `{"model":"m","system":[{"type":"text","text":"You are an agent."}],"tools":[{"name":"Bash","description":"runs a command","input_schema":{"type":"object"}}%s],"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>\nRead CLAUDE.md.\n</system-reminder>"},{"type":"text","text":"fix the test"}]}%s]}`
	work    = `,{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"Bash","input":{"command":"go test ./..."}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"FAIL\nexit 1"}]}`
	summary = `,{"role":"assistant","content":"I ran the tests, and one failed."}`
)

func compactedRequest(t testing.TB) *Content {
	t.Helper()
	earlier := sentRequest(t, request.Request{Body: fmt.Appendf(nil, head, "", work), Proven: true})
	later := sentRequest(t, request.Request{Body: fmt.Appendf(nil, head, `,{"name":"Skill"}`, summary), Unknown: []string{"settings"},
		Usage: conversation.Usage{Counted: true, Input: 3696, CacheRead: 20}})
	earlier.Of.Name = "#7"
	return Prepare(later, earlier)
}

func TestPane_looksAsDrawn(t *testing.T) {
	for _, w := range []int{24, 42, 90} {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			p := screentest.Show(New(screentest.Colourless()), compactedRequest(t), w, 30)
			screentest.Do(t, p, keymap.NextMessage, keymap.MoveDown, keymap.Open)
			golden.RequireEqual(t, []byte(screentest.DrawWithStatus(p, 30)))
		})
	}
}

// Below the line about a part of the system prompt that changed opens how it did.
func TestPane_opensWhatChanged(t *testing.T) {
	const prompt = `{"system":[{"type":"text","text":"You are an agent.\nBe %s.\nUse tools."}],"messages":[{"role":"user","content":"fix the test"}]}`
	earlier := sentRequest(t, request.Request{Body: fmt.Appendf(nil, prompt, "brief")})
	earlier.Of.Name = "#7"
	later := sentRequest(t, request.Request{Body: fmt.Appendf(nil, prompt, "thorough")})
	p := screentest.Show(New(screentest.Colourless()), Prepare(later, earlier), 42, 12)
	screentest.Do(t, p, keymap.MoveUp, keymap.MoveUp)
	closed := screentest.DrawWithStatus(p, 12)
	screentest.Do(t, p, keymap.Open)
	golden.RequireEqual(t, []byte(closed+"\n"+screentest.DrawWithStatus(p, 12)))
	if got := string(p.Value()); got != "@@\n You are an agent.\n-Be brief.\n+Be thorough.\n Use tools.\n" {
		t.Errorf("it copies %q", got)
	}
}

func TestPane_coloursOnly(t *testing.T) {
	screentest.ColoursOnly(t, 20, func(styles *theme.Styles, w int) screentest.Rows {
		return screentest.Show(New(styles), compactedRequest(t), w, 20)
	})
}

// The cursor begins at the first block, and the block under it can be copied.
func TestPane_blocks(t *testing.T) {
	p := screentest.Show(New(screentest.Colourless()), compactedRequest(t), 80, 40)
	for _, want := range []string{"You are an agent.", `{"name":"Bash",`, `{"name":"Skill"}`, "<system-reminder>", "fix the test"} {
		if got := string(p.Value()); !strings.HasPrefix(got, want) {
			t.Errorf("the block is %q, not %q", got, want)
		}
		screentest.Do(t, p, keymap.MoveDown)
	}
	screentest.Do(t, p, keymap.Bottom, keymap.Open)
	if got := screentest.Draw(p, 40); p.Path() != "/messages/2/content/0" || !strings.Contains(got, "    exit 1") {
		t.Errorf("at %s shows\n%s", p.Path(), got)
	}
}

func TestPane_search(t *testing.T) {
	c := compactedRequest(t)
	p := screentest.Show(New(screentest.Colourless()), c, 80, 40)
	m, err := Find(t.Context(), c, "exit 1")
	if err != nil || !p.SetMatches(m) || p.Path() != "/messages/2/content/0" {
		t.Errorf("%v, at %q", err, p.Path())
	}
	if at, of := p.Match(1); at != 1 || of != 1 {
		t.Errorf("match %d of %d", at, of)
	}
}

func TestPane_empty(t *testing.T) {
	p := New(screentest.Colourless())
	p.Resize(20, 3)
	screentest.Empty(t, p, "\n\n\n\n\n")
}

func TestPane_anyUse(t *testing.T) {
	texts := rapid.SampledFrom([]string{"x", "日本 word", "\x1b[2J\u202e", "", strings.Repeat("word ", 3000), "a\nb"})
	rapid.Check(t, func(t *rapid.T) {
		body := func(name string) []byte {
			list := `{"role":"user","content":"x"}`
			for _, text := range rapid.SliceOfN(texts, 0, 5).Draw(t, name) {
				list += fmt.Sprintf(`,{"role":"assistant","content":[{"type":"text","text":%q}]}`, strings.ToValidUTF8(strings.NewReplacer("\x1b", "", "\u202e", "").Replace(text), ""))
			}
			return fmt.Appendf(nil, `{"system":%q,"tools":[{"name":"\u001b]0;t\u0007"}],"messages":[%s]}`, "word word", list)
		}
		c := Prepare(sentRequest(t, request.Request{Body: body("later")}), sentRequest(t, request.Request{Body: body("earlier")}))
		size := screentest.AnySize(t, 90)
		p := screentest.Show(New(screentest.Colourless()), c, size.W, size.H)
		screentest.AnyUse(t, p, size, func(text string) Matches {
			m, _ := Find(t.Context(), c, text)
			return m
		}, map[string]func(*rapid.T){
			"": func(t *rapid.T) { screentest.Walks(t, p, p.window.Rows()) },
		}, keymap.NextMessage, keymap.PrevMessage)
	})
}
