package openhands

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"hindcast/store/engine"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
)

// A conversation of any shape is read in time and memory that do not grow with the square of its
// events.
func TestRead_shapes(t *testing.T) {
	const n = 1500
	named := func(i int) string { return fmt.Sprintf("%08x", i) }
	said := func(i int, parent, kind, more string) string {
		if parent != "" {
			parent = fmt.Sprintf(`,"parent_id":%q`, parent)
		}
		return fmt.Sprintf(`{"id":%q,"kind":%q,"timestamp":"2026-01-02T03:04:05","source":"agent"%s%s}`, named(i), kind, parent, more)
	}
	const words = `,"llm_message":{"role":"user","content":[{"type":"text","text":"says it"}]}`
	for name, event := range map[string]func(i int) string{
		"chain": func(i int) string { return said(i, named(i-1), kindMessage, words) },
		"star":  func(i int) string { return said(i, named(0), kindMessage, words) },
		"two":   func(i int) string { return said(i, named(max(i-2, 0)), kindMessage, words) },
		"silent": func(i int) string {
			if i%2 == 0 {
				return said(i, named(max(i-2, 0)), kindMessage, words)
			}
			return said(i, named(i-1), kindState, "")
		},
		"condensations that keep all": func(i int) string {
			if i%2 == 0 {
				return said(i, named(i-1), kindMessage, words)
			}
			return said(i, named(i-1), kindCondense, `,"summary":"s","summary_offset":1,"forgotten_event_ids":[]`)
		},
		"calls of one answer": func(i int) string {
			return said(i, named(i-1), kindAction, fmt.Sprintf(`,"tool_name":"terminal","tool_call_id":"call-%d","llm_response_id":"r","thought":[],"tool_call":{"arguments":"{}"}`, i))
		},
	} {
		t.Run(name, func(t *testing.T) {
			events := []string{said(0, explicitRoot, kindMessage, words)}
			for i := 1; i < n; i++ {
				events = append(events, event(i))
			}
			dir := t.TempDir()
			write(t, dir, "", events...)
			s := open(t, dir)
			list := storetest.Headers(t, s, made)
			if _, err := s.State(t.Context(), list[len(list)-1].Ref()); err != nil {
				t.Error(err)
			}
		})
	}
}

// counting counts the folders that are listed in a tree.
type counting struct {
	tree.Tree
	lists int
}

func (c *counting) List(name string) ([]string, error) {
	c.lists++
	return c.Tree.List(name)
}

// However many conversations a list has, the folders of a storage are listed once for all of them.
func TestKin_listsOnce(t *testing.T) {
	const n = 20
	dir := t.TempDir()
	for i := range n {
		put(t, filepath.Join(dir, fmt.Sprintf("%032x", i), eventsName, fmt.Sprintf("event-00000-%08x.json", i/2)), "{}")
	}
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	c, k := &counting{Tree: disk}, kin{}
	for i := range n {
		root := &node{eventFile: eventFile{file: fmt.Sprintf("event-00000-%08x.json", i/2)}}
		if of := k.conversationsOf(engine.In{Tree: c, Now: time.Unix(1, 0)}, root); len(of) != 2 {
			t.Errorf("%s is in %v", root.file, of)
		}
	}
	if c.lists != 1+n {
		t.Errorf("%d folders are listed, want %d", c.lists, 1+n)
	}
}
