package kinds

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
	"hindcast/store/storetest/skip"
)

// Where a program wrote a reminder before the words of the person, sessions and rows of frameworks are called as
// without it: the stores that the SDKs wrote are changed so. A session that begins with a message that the program
// wrote as a whole is called by the next.
func TestKinds_titlesOfFrameworksAreTyped(t *testing.T) {
	skip.Sequential(t)
	const reminder = `<system-reminder>\nThe user provided the following references.\n</system-reminder>\n`
	root := filepath.Join("..", "..", "testdata")
	for _, c := range []struct {
		path string
		// tables are those of a database with their column of messages; none of a folder.
		tables map[string]string
		least  int // of the sessions whose title was changed
	}{
		{"strands/python-file", nil, 8},
		{"strands/python-snapshot", nil, 3},
		{"strands/typescript/unified", nil, 1},
		{"genkit/go-1.13.1", nil, 2},
		{"crewai/json", nil, 1},
		{"agent-framework/agents", nil, 1},
		{"mastra/store.db", map[string]string{"mastra_messages": "content"}, 1},
		{"adk/sqlite_service.db", map[string]string{"events": "event_data"}, 1},
		{"openaiagents/sqlite_session.db", map[string]string{"agent_messages": "message_data"}, 1},
		{"openaiagents/async.db", map[string]string{"agent_messages": "message_data"}, 1},
	} {
		t.Run(c.path, func(t *testing.T) {
			from := filepath.Join(root, filepath.FromSlash(c.path))
			was, words := titlesOf(t, from)
			to := filepath.Join(t.TempDir(), filepath.Base(from))
			if c.tables == nil {
				if err := os.CopyFS(to, os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
			} else {
				to = rowstest.Copied(t, from)
			}
			for table, column := range c.tables {
				for _, said := range words {
					rowstest.Execute(t, to, fmt.Sprintf("UPDATE %s SET %s = replace(%[2]s, '\"%s', '\"%s')", table, column, said, reminder+said))
				}
			}
			err := filepath.WalkDir(to, func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() || c.tables != nil {
					return err
				}
				data, err := os.ReadFile(path)
				for _, said := range words {
					data = bytes.ReplaceAll(data, []byte(`"`+said), []byte(`"`+reminder+said))
				}
				if err != nil {
					return err
				}
				return os.WriteFile(path, data, 0o600)
			})
			if err != nil {
				t.Fatal(err)
			}
			now, _ := titlesOf(t, to)
			for _, name := range slices.Sorted(maps.Keys(was)) {
				if now[name] != was[name] {
					t.Errorf("%s is called %q, and without the reminder %q", name, now[name], was[name])
				}
			}
			if len(words) < c.least {
				t.Errorf("%d sessions begin with words: %q", len(words), was)
			}
		})
	}
}

// plain are words that JSON writes as they are.
var plain = regexp.MustCompile(`^[A-Za-z0-9 .,!?]{2,}`)

// titlesOf returns the titles of the sessions and of their rows in which the user speaks, and how
// those of the sessions begin.
func titlesOf(t *testing.T, path string) (titles map[string]string, words []string) {
	t.Helper()
	s, err := All(nil, "").Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	titles = map[string]string{}
	for _, info := range storetest.Sessions(t, s) {
		titles[info.ID] = info.Title
		said := plain.FindString(info.Title)
		if said == info.Title {
			said += `"` // all of it: others may begin so
		}
		if said != "" && said != `"` && !slices.Contains(words, said) {
			words = append(words, said)
		}
		for _, h := range storetest.Headers(t, s, info.ID) {
			if h.EventName == "user input" || h.Event == model.SnapshotEventTurnEnd {
				titles[fmt.Sprintf("%s #%d", info.ID, h.Index)] = h.Title
			}
		}
	}
	return titles, words
}

// A run of LlamaIndex is called by what a person typed to its agent, as a text or as a message.
func TestKinds_titlesOfLlamaIndexAreTyped(t *testing.T) {
	skip.Sequential(t)
	for _, said := range []string{
		`"<system-reminder>\nbe short\n</system-reminder>\nRename the helper"`,
		`{"role":"user","additional_kwargs":{},"blocks":[{"block_type":"text","text":"<system-reminder>be short</system-reminder>"},{"block_type":"text","text":"Rename the helper"}]}`,
		`{"__is_pydantic":true,"value":{"role":"user","blocks":[{"block_type":"text","text":"Rename the helper"}]},"qualified_name":"llama_index.core.base.llms.types.ChatMessage"}`,
	} {
		file := rowstest.Copied(t, filepath.Join("..", "..", "testdata", "llamaindex", "server.db"))
		rowstest.Execute(t, file, `UPDATE ticks SET tick_data = json_set(tick_data, '$.serialized_tick', json_set(json_extract(tick_data, '$.serialized_tick'), '$.value.event.value.user_msg', json('`+said+`')) || '') WHERE id = 2`)
		s, err := All(nil, "").Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		of := storetest.Sessions(t, s)[0]
		if of.Title != "Rename the helper" {
			t.Errorf("%s: the session is called %q", said, of.Title)
		}
		if h := storetest.Headers(t, s, of.ID)[1]; h.Title != "StartEvent Rename the helper" {
			t.Errorf("%s: the row is called %q", said, h.Title)
		}
	}
}
