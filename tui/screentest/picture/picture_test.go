package picture

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"
)

func screen(rows ...string) Screen {
	var s Screen
	for _, row := range rows {
		var cells []Cell
		for _, r := range row {
			cells = append(cells, Cell{Text: string(r)})
		}
		s = append(s, cells)
	}
	return s
}

func draw(t *testing.T, frames ...Frame) string {
	t.Helper()
	var b strings.Builder
	if err := SVG(&b, `a "title" & more`, frames...); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		if _, err := d.Token(); err == io.EOF {
			return b.String()
		} else if err != nil {
			t.Fatalf("no XML: %v", err)
		}
	}
}

func TestSVG_escapesAndJoins(t *testing.T) {
	s := screen("┌──┐", "│<&│", "└──┘")
	got := draw(t, Frame{Dark: s, Light: s})
	for _, want := range []string{"&lt;&amp;</text>", `textLength="16.8"`, "h16.8", "v18", "prefers-color-scheme:light"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	if strings.ContainsAny(got[strings.Index(got, "<defs>"):], "┌─│") {
		t.Error("a border is set as text")
	}
	if again := draw(t, Frame{Dark: s, Light: s}); again != got {
		t.Error("the same screen is drawn otherwise")
	}
}

func TestSVG_scenesShareRowsAndStandStill(t *testing.T) {
	a, b := screen("same", "one "), screen("same", "two ")
	got := draw(t, Frame{a, a, time.Second}, Frame{b, b, 3 * time.Second})
	if n := strings.Count(got, ">same<"); n != 1 {
		t.Errorf("a row of both frames is drawn %d times", n)
	}
	for _, want := range []string{"animation:4s", "@keyframes k0{0%{visibility:visible}25%{visibility:hidden}}", "prefers-reduced-motion:reduce){.f{animation:none}.f1{visibility:visible}}"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "<script") {
		t.Error("there is a script")
	}
}
