package look

import (
	"reflect"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"hindcast/model"
)

// env makes a getenv function.
func env(vars map[string]string) func(string) string {
	return func(key string) string { return vars[key] }
}

func TestRead_asksTheEnvironment(t *testing.T) {
	for _, tc := range []struct {
		name    string
		env     func(string) string
		names   string
		palette string
		ascii   bool
	}{
		{"nothing", env(nil), "", "", false},
		{"dumb", env(map[string]string{"TERM": "dumb"}), "", "", true},
		{"C locale", env(map[string]string{"LANG": "C"}), "", "", true},
		{"LC_ALL first", env(map[string]string{"LC_ALL": "C", "LANG": "de_DE.UTF-8"}), "", "", true},
		{"LC_CTYPE before LANG", env(map[string]string{"LC_CTYPE": "C.UTF-8", "LANG": "C"}), "", "", false},
		{"UTF-8 locale", env(map[string]string{"LANG": "de_DE.utf8"}), "", "", false},
		{"variable", env(map[string]string{Variable: "ascii"}), "", "", true},
		{"variable over the locale", env(map[string]string{"LANG": "C", Variable: "unicode"}), "", "", false},
		{"names over the variable", env(map[string]string{Variable: "light,ascii"}), "dark", "dark", false},
		{"a list", env(map[string]string{Variable: " 16 , ascii,auto"}), "", "16", true},
		{"the last one counts", env(map[string]string{Variable: "dark,none,ascii,unicode"}), "", "none", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked, err := Read(tc.names, tc.env)
			if err != nil {
				t.Fatal(err)
			}
			want := Asked{Palette: tc.palette, Glyphs: Unicode}
			if tc.ascii {
				want.Glyphs = ASCII
			}
			if !reflect.DeepEqual(asked, want) {
				t.Errorf("Read = %+v, want %+v", asked, want)
			}
		})
	}
}

func TestRead_links(t *testing.T) {
	for _, tc := range []struct {
		env   map[string]string
		names string
		want  bool
	}{
		{nil, "", false},
		{map[string]string{"TERM": "xterm-256color"}, "", false},
		{map[string]string{"TERM": "xterm-kitty"}, "", true},
		{map[string]string{"VTE_VERSION": "7600"}, "", true},
		{map[string]string{"VTE_VERSION": "4999"}, "", false},
		{map[string]string{"TERM_PROGRAM": "iTerm.app", "NO_COLOR": "1"}, "", true},
		{map[string]string{"TERM_PROGRAM": "iTerm.app", "TMUX": "/tmp/tmux"}, "", false},
		{map[string]string{"WT_SESSION": "x", "SSH_CONNECTION": "a b"}, "", false},
		{map[string]string{"KITTY_WINDOW_ID": "1", "TERM": "dumb"}, "", false},
		{map[string]string{"KITTY_WINDOW_ID": "1"}, "dark,nolinks", false},
		{map[string]string{"KITTY_WINDOW_ID": "1", Variable: "nolinks"}, "", false},
		{nil, "links", true},
	} {
		if asked, err := Read(tc.names, env(tc.env)); err != nil || asked.Links != tc.want {
			t.Errorf("%v with %q: %v, %v", tc.env, tc.names, asked.Links, err)
		}
	}
}

// Only terminals that draw placeholders are sent pictures.
func TestRead_pictures(t *testing.T) {
	for term, want := range map[string]bool{"xterm-kitty": true, "xterm-ghostty": true, "xterm-256color": false, "tmux-256color": false, "wezterm": false, "": false} {
		if asked, err := Read("", env(map[string]string{"TERM": term, "KITTY_WINDOW_ID": "1"})); err != nil || asked.Pictures != want {
			t.Errorf("%q: %v, %v", term, asked.Pictures, err)
		}
	}
}

func TestRead_namesTheUnknownWord(t *testing.T) {
	_, err := Read("", env(map[string]string{Variable: "dark,pink"}))
	if want := `theme: read HINDCAST_THEME: "pink" is none of auto, dark, light, 16, none, unicode, ascii, links, nolinks`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// A snapshot's shape is no other's, and no mark of a snapshot; an orphan's is no mere dot.
func TestGlyphs_tellSnapshotsApart(t *testing.T) {
	for name, g := range map[string]Glyphs{"Unicode": Unicode, "ASCII": ASCII} {
		seen := map[string]string{".": "a dot"}
		for what, sign := range map[string]string{
			"active": g.Active, "orphaned": g.Orphaned, "head": g.Head, "a step": g.Dot, "error": g.Error, "damaged": g.Damaged,
			"interrupted": g.Interrupted, "repaired": g.Repaired, "evicted": g.Evicted, "redacted": g.Redacted, "inferred": g.Inferred,
		} {
			if other := seen[sign]; other != "" {
				t.Errorf("%s: %s and %s are both %q", name, what, other, sign)
			}
			seen[sign] = what
		}
	}
}

func TestGlyphs_areOneCellWide(t *testing.T) {
	for _, g := range []Glyphs{Unicode, ASCII} {
		v := reflect.ValueOf(g)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			var shapes []string
			switch field := v.Field(i).Interface().(type) {
			case string:
				shapes = []string{field}
			case []string:
				shapes = field
			}
			for _, shape := range shapes {
				if words := name == "Arrow" || name == "Good"; ansi.StringWidth(shape) != 1 && !words {
					t.Errorf("%s %q is %d cells wide", name, shape, ansi.StringWidth(shape))
				}
			}
		}
	}
	v := reflect.ValueOf(ASCII)
	for i := range v.NumField() {
		if s := v.Field(i); s.Kind() == reflect.String && s.String()[0] >= 0x80 {
			t.Errorf("%s is not ASCII: %q", v.Type().Field(i).Name, s)
		}
	}
}

func TestGlyphs_sentence(t *testing.T) {
	for _, tc := range []struct {
		glyphs *Glyphs
		want   string
	}{{&Unicode, "session_…/a → b"}, {&ASCII, "session_.../a -> b"}} {
		if got := tc.glyphs.Sentence("session_…/a → b"); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// Each mark that the lanes do not show has a sign of its own.
func TestGlyphs_signs(t *testing.T) {
	for _, g := range []*Glyphs{&Unicode, &ASCII} {
		of := map[string]string{}
		for mark := range (^model.Marks(0)).All() {
			sign := g.Sign(mark)
			if before, taken := of[sign]; taken || (sign == "") != (mark == model.MarkTraced) {
				t.Errorf("%s has the sign %q, as %q has", mark.Word(), sign, before)
			}
			of[sign] = mark.Word()
		}
	}
}
