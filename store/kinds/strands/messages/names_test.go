package messages

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
)

// The calls of a plan are those of a program: names in them are literals of Python,
// whatever is in the name. Each was given to Python 3.12, and is the name again.
func TestPlan_namesAreLiteralsOfPython(t *testing.T) {
	for name, literal := range map[string]string{
		`plain`:                  `"plain"`,
		`it's "so"`:              `"it's \"so\""`,
		`back\slash`:             `"back\\slash"`,
		"line\nand\ttab":         `"line\nand\ttab"`,
		"\x1b[31mred\x7f":        `"\x1b[31mred\x7f"`,
		"<a&b>":                  `"<a&b>"`,
		"größe 🙂":                `"größe 🙂"`,
		"right\u202eleft\u2028":  `"right\u202eleft\u2028"`,
		"tag \U000e0041":         `"tag \U000e0041"`,
		"..":                     `".."`,
		strings.Repeat("x", 240): `"` + strings.Repeat("x", 240) + `"`,
	} {
		dir := t.TempDir()
		folder := filepath.Join(dir, "session_"+name)
		hazards(t)["healthy"].write(t, folder)
		if err := os.Rename(filepath.Join(folder, "agents", "agent_default"), filepath.Join(folder, "agents", "agent_"+name)); err != nil {
			t.Fatal(err)
		}
		rest(t, dir)
		s := openUnsynced(t, dir)
		before := contents(t, dir)
		list := storetest.Headers(t, s, name)
		plan := restore(t, s, name, list[0].ID)
		if want := "Agent(agent_id=" + literal + ", session_manager=FileSessionManager(" + literal + ")) loads"; !strings.HasPrefix(plan.Loads, want) {
			t.Errorf("%q: %s", name, plan.Loads)
		}
		undo(t, s)
		if now := contents(t, dir); len(now) != len(before) {
			t.Errorf("%q: %d files of %d", name, len(now), len(before))
		}
		other := fork(t, s, list[0].Ref(), "copy")
		if !strings.Contains(other.Loads, `FileSessionManager("copy")`) {
			t.Errorf("%q: %s", name, other.Loads)
		}
		gone := undo(t, s)
		if _, err := os.Lstat(filepath.Join(dir, "session_copy")); !os.IsNotExist(err) || !strings.Contains(gone.Loads, `"copy"`) {
			t.Errorf("%q: %v, %s", name, err, gone.Loads)
		}
	}
}

// The journal is a text, which has no other names.
func TestPlan_refusesANameThatIsNoUTF8(t *testing.T) {
	dir := t.TempDir()
	hazards(t)["healthy"].write(t, filepath.Join(dir, "session_latin \xe9"))
	s := openUnsynced(t, dir)
	h := storetest.Headers(t, s, "latin \xe9")[0]
	_, restore := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()})
	_, fork := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: h.Ref(), As: "copy"})
	for _, err := range []error{restore, fork} {
		if reason := refusedFor(t, err); !strings.Contains(reason, "rename its folder") {
			t.Error(reason)
		}
	}
}

// What a link leads to is not the session's, also where it is in the same store:
// nothing is written through it.
func TestPlan_linksAreNotFollowed(t *testing.T) {
	for _, link := range []string{"agents/agent_default/messages", "agents/agent_default/agent.json", "agents/agent_default", "agents", "."} {
		for _, inside := range []bool{false, true} {
			dir := t.TempDir()
			away := filepath.Join(t.TempDir(), "away")
			if inside {
				away = filepath.Join(dir, "away")
			}
			folder := filepath.Join(dir, "session_h")
			hazards(t)["healthy"].write(t, folder)
			at := filepath.Join(folder, filepath.FromSlash(link))
			if err := os.Rename(at, away); err != nil {
				t.Fatal(err)
			}
			to, err := filepath.Rel(filepath.Dir(at), away)
			if err == nil {
				err = os.Symlink(to, at)
			}
			if err != nil {
				t.Fatal(err)
			}
			rest(t, filepath.Dir(away))
			s := openUnsynced(t, dir)
			before := contents(t, filepath.Dir(away))
			ids := []string{strings.Repeat("0", 64)}
			for h, err := range s.Headers(t.Context(), "h") {
				if err == nil {
					ids = append(ids, h.ID)
				}
			}
			for _, id := range ids {
				ref := model.Ref{Session: "h", ID: id}
				_, restore := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: ref})
				_, fork := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: ref, As: "copy"})
				_, repair := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "h"}})
				for what, err := range map[string]error{"restored": restore, "forked": fork, "repaired": repair} {
					if err == nil {
						t.Errorf("%s is a link: %s", link, what)
					}
				}
			}
			if now := contents(t, filepath.Dir(away)); !maps.Equal(now, before) {
				t.Errorf("%s is a link, and what it leads to was written to", link)
			}
		}
	}
}
