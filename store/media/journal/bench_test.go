package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/media/disk"
	"hindcast/store/media/journal"
)

// messages is the folder of the message logs that are measured.
const messages = "session_s/agents/agent_a/messages"

// messageLog makes a store with one session of n messages.
func messageLog(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, messages), 0o755))
	text := make([]byte, 1800)
	for i := range text {
		text[i] = byte('a' + i%26)
	}
	yesterday := time.Now().Add(-24 * time.Hour)
	for i := range n {
		name := filepath.Join(dir, messages, fmt.Sprintf("message_%d.json", i))
		must(t, os.WriteFile(name, fmt.Appendf(text, "%d", i), 0o644))
		must(t, os.Chtimes(name, yesterday, yesterday))
	}
	must(t, os.WriteFile(filepath.Join(dir, "session_s/agents/agent_a/agent.json"), []byte(`{"removed_message_count":0}`), 0o644))
	return dir
}

// cut plans a restore of a message log that leaves the first k of n messages.
func cut(t testing.TB, j *journal.Journal, k, n int) model.Plan {
	t.Helper()
	draft := j.Draft()
	draft.Expect(messages)
	draft.Put("session_s/agents/agent_a/agent.json", fmt.Appendf(nil, `{"removed_message_count":%d}`, k))
	for i := n - 1; i >= k; i-- {
		draft.SetAside(fmt.Sprintf("%s/message_%d.json", messages, i))
	}
	plan, err := draft.Plan(model.Plan{Op: model.OpRestore, Session: "s"})
	must(t, err)
	return plan
}

// BenchmarkLog measures what is done with a session of 10,000 messages: a restore to
// #100, its undo and its redo, each planned and applied, and reading the journal.
func BenchmarkLog(b *testing.B) {
	const n = 10_000
	steps := []struct {
		name string
		do   func(*journal.Journal) (model.Plan, error)
	}{
		{"restore", func(j *journal.Journal) (model.Plan, error) { return cut(b, j, 100, n), nil }},
		{"undo", func(j *journal.Journal) (model.Plan, error) { return j.PlanUndo(b.Context()) }},
		{"redo", func(j *journal.Journal) (model.Plan, error) { return j.PlanRedo(b.Context()) }},
	}
	for i, measured := range steps {
		b.Run(measured.name, func(b *testing.B) {
			var used time.Duration
			for b.Loop() {
				b.StopTimer()
				d, err := disk.Open(messageLog(b, n))
				must(b, err)
				j := journal.New(d, journal.Options{})
				for _, step := range steps[:i+1] {
					before := cpu()
					if step.name == measured.name {
						b.StartTimer()
					}
					plan, err := step.do(j)
					must(b, err)
					_, err = j.Apply(b.Context(), plan, nil)
					must(b, err)
					if step.name == measured.name {
						b.StopTimer()
						used += cpu() - before
					}
				}
				must(b, d.Close())
				b.StartTimer()
			}
			b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
	b.Run("entries", func(b *testing.B) {
		d, err := disk.Open(messageLog(b, n))
		must(b, err)
		defer d.Close()
		j := journal.New(d, journal.Options{})
		_, err = j.Apply(b.Context(), cut(b, j, 100, n), nil)
		must(b, err)
		for b.Loop() {
			list, err := journal.New(d, journal.Options{}).Entries(b.Context())
			must(b, err)
			if len(list) != 1 || len(list[0].Changes()) != 9901 {
				b.Fatal(len(list))
			}
		}
	})
}
