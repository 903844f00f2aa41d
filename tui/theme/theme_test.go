package theme

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/muesli/termenv"

	"hindcast/look"
)

// env makes a getenv function of pairs.
func env(pairs ...string) func(string) string {
	return func(key string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == key {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestChoose_followsTheEnvironment(t *testing.T) {
	for _, tc := range []struct {
		name    string
		env     func(string) string
		asked   string
		palette Palette
		profile termenv.Profile
		ascii   bool
	}{
		{"truecolour", env("TERM", "xterm-256color", "COLORTERM", "truecolor"), "", Dark, termenv.TrueColor, false},
		{"256 colours", env("TERM", "xterm-256color"), "", Dark, termenv.ANSI256, false},
		{"light ground", env("TERM", "xterm-256color", "COLORFGBG", "0;15"), "", Light, termenv.ANSI256, false},
		{"dark ground", env("TERM", "xterm-256color", "COLORFGBG", "15;default;0"), "", Dark, termenv.ANSI256, false},
		{"16 colours", env("TERM", "linux"), "", Sixteen, termenv.ANSI, false},
		{"NO_COLOR", env("TERM", "xterm-256color", "NO_COLOR", "1"), "", None, termenv.ANSI, false},
		{"dumb", env("TERM", "dumb"), "", None, termenv.Ascii, true},
		{"dumb and NO_COLOR", env("TERM", "dumb", "NO_COLOR", "1"), "", None, termenv.Ascii, true},
		{"variable", env("TERM", "xterm-256color", look.Variable, "light"), "", Light, termenv.ANSI256, false},
		{"asked over variable", env("TERM", "xterm-256color", look.Variable, "light"), "dark, ascii", Dark, termenv.ANSI256, true},
		{"asked over NO_COLOR", env("TERM", "xterm-256color", "NO_COLOR", "1"), "16", Sixteen, termenv.ANSI, false},
		{"C locale", env("TERM", "xterm-256color", "LANG", "C"), "", Dark, termenv.ANSI256, true},
		{"LC_ALL first", env("TERM", "xterm-256color", "LC_ALL", "C", "LANG", "de_DE.UTF-8"), "", Dark, termenv.ANSI256, true},
		{"UTF-8 locale", env("TERM", "xterm-256color", "LANG", "de_DE.UTF-8"), "", Dark, termenv.ANSI256, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := Choose(tc.asked, tc.env)
			if err != nil {
				t.Fatal(err)
			}
			if asks := tc.asked == "" && tc.env(look.Variable) == "" && tc.palette <= Light; c.Asks != asks {
				t.Errorf("the terminal is asked: %t, not %t", c.Asks, asks)
			}
			if c.Palette != tc.palette || c.Profile != tc.profile || (c.Glyphs.Head == ASCII.Head) != tc.ascii {
				t.Errorf("Choose = palette %d, profile %v, glyph %q", c.Palette, c.Profile, c.Glyphs.Head)
			}
		})
	}
}

// styles lists the tokens of a set by name.
func styles(t *testing.T, tokens Tokens) map[string]Style {
	t.Helper()
	out := map[string]Style{}
	v := reflect.ValueOf(tokens)
	for i := range v.NumField() {
		out[v.Type().Field(i).Name] = v.Field(i).Interface().(Style)
	}
	return out
}

func TestNew_tokensAreOnlySGR(t *testing.T) {
	sgr := regexp.MustCompile(`^(\x1b\[[0-9;]*m)?$`)
	colour := regexp.MustCompile(`[\[;](3[0-7]|4[0-7]|9[0-7]|10[0-7]|[34]8;)`)
	for palette := Dark; palette <= None; palette++ {
		for _, profile := range []termenv.Profile{termenv.TrueColor, termenv.ANSI256, termenv.ANSI, termenv.Ascii} {
			s := New(Choice{Palette: palette, Profile: profile, Glyphs: Unicode})
			for _, tokens := range []Tokens{s.Tokens, *s.Selected, *s.Unfocused} {
				for name, st := range styles(t, tokens) {
					if !sgr.MatchString(st.Start) || !sgr.MatchString(st.Reset) {
						t.Errorf("palette %d, profile %v, %s: %q … %q", palette, profile, name, st.Start, st.Reset)
					}
					if (st.Start == "") != (st.Reset == "") {
						t.Errorf("%s is not switched off: %q … %q", name, st.Start, st.Reset)
					}
					if profile == termenv.Ascii && st.Start != "" {
						t.Errorf("%s sends %q to a terminal without styles", name, st.Start)
					}
					if palette == None && colour.MatchString(st.Start) {
						t.Errorf("%s has a colour without colours: %q", name, st.Start)
					}
				}
			}
		}
	}
}

func TestNew_cursorRowShowsInEveryPalette(t *testing.T) {
	for palette, profile := range map[Palette]termenv.Profile{
		Dark: termenv.ANSI256, Light: termenv.ANSI256, Sixteen: termenv.ANSI, None: termenv.ANSI,
	} {
		s := New(Choice{Palette: palette, Profile: profile, Glyphs: Unicode})
		plain, selected, unfocused := styles(t, s.Tokens), styles(t, *s.Selected), styles(t, *s.Unfocused)
		for _, name := range []string{"Text", "Muted", "ID", "Orphaned"} {
			if plain[name] == selected[name] || plain[name] == unfocused[name] || selected[name] == unfocused[name] {
				t.Errorf("palette %d: %s is %q, selected %q, unfocused %q", palette, name, plain[name], selected[name], unfocused[name])
			}
		}
	}
}
