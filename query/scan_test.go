package query_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/kinds"
	"hindcast/store/kinds/claudecode"
	"hindcast/store/kinds/codex"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// scannedStores opens the stores below testdata that can be searched without reading sessions, and a long transcript.
func scannedStores(t *testing.T) (list []store.Store) {
	t.Helper()
	written := t.TempDir()
	storetest.SaveTranscript(t, filepath.Join(written, "pi", "--long--", "t_long.jsonl"), storetest.PiTranscript, "long", time.Unix(1e9, 0), 100_000, 1000)
	rollout := filepath.Join(written, "codex", "sessions", "2026", "11", "22", "rollout-2026-11-22T11-13-12-01a202f5-bfd0-70d1-aab1-5dc3e55b8000.jsonl")
	if err := errors.Join(os.MkdirAll(filepath.Dir(rollout), 0o700), os.WriteFile(rollout, longRollout(40, 500), 0o600)); err != nil {
		t.Fatal(err)
	}
	dirs := []string{filepath.Join(written, "pi"), filepath.Join(written, "codex")}
	for _, root := range []string{"../testdata/coding", "../testdata/files", "../store/kinds/claudecode/testdata"} {
		below, err := os.ReadDir(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range below {
			dirs = append(dirs, filepath.Join(root, dir.Name()))
		}
	}
	all := kinds.All(nil, "")
	for _, dir := range dirs {
		id, err := all.Identify(t.Context(), dir)
		if err != nil {
			continue // no store by itself
		}
		s, err := id.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		if s.Features().Scanner != nil {
			list = append(list, s)
		}
	}
	return list
}

// longRollout returns a rollout of Codex of some turns, whose questions and outputs have so many bytes. Events stand before and behind
// the items that they repeat, and the last one stands alone.
func longRollout(turns, size int) []byte {
	var b bytes.Buffer
	record := func(kind, payload string, args ...any) {
		fmt.Fprintf(&b, `{"timestamp":"2026-11-22T11:13:12.000Z","type":%q,"payload":`+payload+"}\n", append([]any{kind}, args...)...)
	}
	record("session_meta", `{"id":"01a202f5-bfd0-70d1-aab1-5dc3e55b8000","timestamp":"2026-11-22T11:13:12.000Z","cwd":"/home/demo","cli_version":"0.118.0"}`)
	record("turn_context", `{"cwd":"/home/demo","approval_policy":"never","model":"demo-1"}`)
	for n := range turns {
		if n == turns/2 {
			record("event_msg", `{"type":"thread_settings_applied","thread_settings":{"cwd":"/home/demo","approval_policy":"never","model":"settled-later"}}`)
		}
		asked, said := fmt.Sprintf("question %d of many%s", n, strings.Repeat(" more", size/5)), fmt.Sprintf("an agent answers %d: \"naïve\", Привет & <b>", n)
		record("event_msg", `{"type":"user_message","message":%q}`, asked)
		record("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}`, asked)
		record("response_item", `{"type":"function_call","name":"shell","arguments":"{\"command\":\"list %d\"}","call_id":"call_%d"}`, n, n)
		record("event_msg", `{"type":"exec_command_end","call_id":"call_%d","aggregated_output":"","exit_code":%d}`, n, n%3)
		record("response_item", `{"type":"function_call_output","call_id":"call_%d","output":%q}`, n, fmt.Sprint("listed ", n, strings.Repeat(" some", size/5)))
		record("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}`, said)
		record("event_msg", `{"type":"agent_message","message":%q}`, said)
	}
	record("event_msg", `{"type":"agent_message","message":"an event alone"}`)
	return b.Bytes()
}

// A search that does not read sessions finds the texts that one that reads them finds, of the same speakers, at the same
// snapshots.
func TestSearchHome_scansAsItReads(t *testing.T) {
	skip.Sequential(t)
	var hits, sessions, compared, numbers int
	scanned, ownScanned := map[string]int{}, map[string]int{}
	own := strings.Fields("message true null error user text name input tool toolUse status success assistant reasoning json role content context err er type unknown model")
	for _, s := range scannedStores(t) {
		for info, err := range s.Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			sessions++
			source := query.Source{Store: s, SessionInfo: info}
			find := func(search query.HomeSearch) (list []query.SessionHit) {
				for hit, err := range query.SearchHome(t.Context(), yieldSources([]query.Source{source}, nil), search) {
					if err != nil || hit.Err != nil {
						t.Fatal(info.ID, err, hit.Err)
					}
					list = append(list, hit)
				}
				return list
			}
			patterns := []*query.Pattern{expr(t, "[a-z]+ question"), expr(t, "^/tmp|ls -"), expr(t, "file.*[0-9]"), query.Literal("settled-later", query.SmartCase)}
			for _, setting := range []string{"demo", "/home", "never", "0.118", "gpt", "master", "main", "mock", "fake"} {
				patterns = append(patterns, query.Literal(setting, query.SmartCase))
			}
			words := map[string]bool{}
			for _, hit := range find(query.HomeSearch{Search: query.Search{Pattern: expr(t, ".")}, Exact: true}) {
				for _, word := range strings.FieldsFunc(hit.Text, func(r rune) bool { return r >= unicode.MaxASCII || unicode.IsSpace(r) }) {
					if len(words) < 30 && len(word) > 2 {
						words[word[:min(len(word), 4+len(words)%20)]] = true
					}
				}
			}
			odd := map[string]bool{"привет": true, "naïve": true, `e"`: true}
			for _, hit := range find(query.HomeSearch{Search: query.Search{Pattern: expr(t, `[a-z ]{0,3}[^a-zA-Z0-9_ .,:/-].{0,3}`)}, Exact: true}) {
				if len(odd) < 15 {
					odd[hit.Text[hit.From:hit.To]] = true
				}
			}
			maps.Copy(words, odd)
			for _, word := range own {
				words[word] = true
			}
			for _, word := range strings.Fields("meta messages cwd version mode usage token cost 4 12 00 1.0 -1") {
				words[word] = true
			}
			for _, hit := range find(query.HomeSearch{Search: query.Search{Pattern: expr(t, "^[-0-9.]{2,}$")}, Exact: true}) {
				if numbers++; len(words) < 60 {
					words[hit.Text] = true
				}
			}
			for word := range words {
				patterns = append(patterns, query.Literal(word, query.SmartCase), query.Literal(word, query.MatchCase))
			}
			for _, pattern := range patterns {
				for _, narrow := range []query.Search{{}, {Role: "assistant"}, {Role: "user"}, {Failed: true}} {
					narrow.Pattern = pattern
					got, want := find(query.HomeSearch{Search: narrow}), find(query.HomeSearch{Search: narrow, Exact: true})
					for i := range got {
						if got[i].Visit == model.NoNode {
							scanned[info.Kind]++
							if slices.Contains(own, got[i].Text) {
								ownScanned[info.Kind]++
							}
						}
						if _, err := got[i].Locate(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					hits += len(want)
					counted := 0
					for _, hit := range find(query.HomeSearch{Search: narrow, Counts: true}) {
						counted += 1 + hit.More
					}
					if counted != len(want) {
						t.Errorf("%s, session %s, %+v: %d texts were counted of %d", info.Kind, info.ID, pattern, counted, len(want))
					}
					if g, w := describeHits(got), describeHits(want); !slices.Equal(g, w) && compared < 10 {
						compared++
						both := slices.Clone(g)
						g = slices.DeleteFunc(g, func(l string) bool { return slices.Contains(w, l) })
						w = slices.DeleteFunc(w, func(l string) bool { return slices.Contains(both, l) })
						t.Errorf("%s, session %s, %+v: scanned alone\n%s\nread alone\n%s", info.Kind, info.ID, pattern, strings.Join(g, "\n"), strings.Join(w, "\n"))
					}
				}
			}
		}
	}
	t.Logf("%d hits in %d sessions, and without reading %v, of Hindcast's own words %v", hits, sessions, scanned, ownScanned)
	for _, kind := range []string{"claude-code", "codex", "pi"} {
		if ownScanned[kind] < 50 {
			t.Errorf("%d words of Hindcast's own were found without reading sessions of %s", ownScanned[kind], kind)
		}
		if scanned[kind] < 500 || hits < 2000 || sessions < 10 || numbers < 100 {
			t.Errorf("%d hits, and %d without reading sessions of %s", hits, scanned[kind], kind)
		}
	}
}

// An event whose item is behind the piece of the file at hand waits for the next piece: no session is read for it, and
// none for a text that JSON escapes.
func TestSearchHome_scansPiecewise(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions", "2026", "11", "22")
	name := filepath.Join(dir, "rollout-2026-11-22T11-13-12-01a202f5-bfd0-70d1-aab1-5dc3e55b8000.jsonl")
	const turns = 2500
	rollout := longRollout(turns, 1000)
	rollout = rollout[:bytes.LastIndexByte(rollout[:len(rollout)-1], '\n')+1] // without the event alone
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(name, rollout, 0o600)); err != nil {
		t.Fatal(err)
	}
	s, err := codex.Kind(nil).Open(t.Context(), filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(dir)))))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, word := range []string{"of many", "Привет", "привет", `"naïve"`, "<b>"} {
		n, read := 0, 0
		search := query.HomeSearch{Search: query.Search{Pattern: query.Literal(word, query.SmartCase)}}
		for hit, err := range query.SearchHome(t.Context(), query.Sources(s, s.Sessions(t.Context())), search) {
			if err = errors.Join(err, hit.Err); err != nil {
				t.Fatal(err)
			}
			if n++; hit.Visit != model.NoNode {
				read++
			}
		}
		if n != turns || read != 0 {
			t.Errorf("%s: %d texts of %d in %d bytes, %d of them read", word, n, turns, len(rollout), read)
		}
	}
	for setting, visit := range map[string]model.Node{"demo-1": 0, "settled-later": turns / 2 * 4} { // four entries a turn
		search := query.HomeSearch{Search: query.Search{Pattern: query.Literal(setting, query.SmartCase)}}
		found := 0
		for hit, err := range query.SearchHome(t.Context(), query.Sources(s, s.Sessions(t.Context())), search) {
			scanned := hit.Visit == model.NoNode
			if _, failed := hit.Locate(t.Context()); errors.Join(err, hit.Err, failed) != nil {
				t.Fatal(err, hit.Err, failed)
			}
			if found++; !scanned || hit.Visit != visit || hit.Path != "/meta/model" || hit.Message >= 0 || hit.Role != "" {
				t.Errorf("%s: scanned %v, at %d, %q, message %d of %q", setting, scanned, hit.Visit, hit.Path, hit.Message, hit.Role)
			}
		}
		if found != 1 {
			t.Errorf("%s was found %d times", setting, found)
		}
	}
}

// describeHits returns hits as lines, sorted.
func describeHits(hits []query.SessionHit) (lines []string) {
	for _, h := range hits {
		lines = append(lines, fmt.Sprintf("%q %d-%d key %v role %s tool %s failed %v message %d visit %d %s active %d", h.Text, h.From, h.To, h.Key, h.Role, h.Tool, h.Failed, h.Message, h.Visit, h.Ref.ID, h.Active))
	}
	slices.Sort(lines)
	return lines
}

// A text that a transcript has three times in each record is decoded into memory once.
func TestSearchHome_decodesOnce(t *testing.T) {
	skip.Counting(t)
	const results = 100
	var b bytes.Buffer
	size := 0
	for n := range results {
		text := fmt.Sprintf("needle %d\n%s", n, strings.Repeat("listed\n", 3000))
		size += len(text)
		fmt.Fprintf(&b, `{"type":"user","uuid":"u%d","parentUuid":null,"sessionId":"s","timestamp":"2026-03-01T00:00:00.000Z",`+
			`"message":{"role":"user","content":%q},"toolUseResult":{"stdout":%q}}`+"\n", n, text, text)
	}
	name := filepath.Join(t.TempDir(), "-home-demo", "5e551011-0000-4000-8000-000000000000.jsonl")
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	s, err := claudecode.Kind(nil).Open(t.Context(), filepath.Dir(name))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var list []query.Source
	for source, err := range query.Sources(s, s.Sessions(t.Context())) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, source)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	found := 0
	for hit, err := range query.SearchHome(t.Context(), yieldSources(list, nil), query.HomeSearch{Search: query.Search{Pattern: query.Literal("needle", query.SmartCase)}}) {
		if err = errors.Join(err, hit.Err); err != nil {
			t.Fatal(err)
		}
		found++
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; found != results || took > 3*uint64(size)/2+4<<20 {
		t.Errorf("%d texts were found, and %d bytes allocated for %d", found, took, size)
	}
}
