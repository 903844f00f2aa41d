package kinds_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/model/request"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// hashOf returns the name that Claude Code gives a value, and its JSON.
func hashOf(t *testing.T, value any) (hash string, text []byte) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	tape, err := jsontape.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := tape.AppendCanonical(nil, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return model.SnapshotID(canonical), text
}

// recordedSession writes a session of Claude Code of n turns, each with the request that it kept, and returns its folder
// and its size.
func recordedSession(t *testing.T, n int) (dir string, size int64) {
	t.Helper()
	const id = "11111111-2222-4333-8444-000000000001"
	type object = map[string]any
	var out bytes.Buffer
	add := func(record object) {
		record["sessionId"], record["version"], record["timestamp"] = id, "2.1.330", fmt.Sprintf("2026-03-01T%02d:%02d:00.000Z", n/60%24, n%60)
		_, text := hashOf(t, record)
		out.Write(append(text, '\n'))
	}
	shape := object{"system": []any{object{"type": "text", "text": strings.Repeat("be brief ", 2000)}}, "tools": []any{object{"name": "Read", "description": strings.Repeat("reads ", 2000)}}}
	shapeHash, _ := hashOf(t, shape)
	add(object{"type": "api-request-shape", "shapeHash": shapeHash, "shape": shape})
	var messages, tail []any
	var hashes []any
	keep, base, parent := 0, any(nil), any(nil)
	say := func(role, text string) object {
		m := object{"role": role, "content": []any{object{"type": "text", "text": text + strings.Repeat(" and so on", 100)}}}
		hash, _ := hashOf(t, m)
		messages, tail, hashes = append(messages, m), append(tail, hash), append(hashes, hash)
		return m
	}
	for i := range n {
		user, answer, ref := fmt.Sprintf("10000000-0000-4000-8000-%012d", i), fmt.Sprintf("20000000-0000-4000-8000-%012d", i), fmt.Sprintf("30000000-0000-4000-8000-%012d", i)
		add(object{"type": "user", "uuid": user, "parentUuid": parent, "isSidechain": false, "cwd": "/w", "message": say("user", fmt.Sprint("ask ", i))})
		digest, _ := hashOf(t, object{"model": "m", "system": shape["system"], "tools": shape["tools"], "messages": messages})
		add(object{"type": "api-request", "id": ref, "base": base, "keep": keep, "tail": tail, "shapeHash": shapeHash, "params": object{"model": "m"}, "cacheControl": []any{}, "requestDigest": digest})
		keep, base, tail = len(messages), ref, nil
		said := say("assistant", fmt.Sprint("answer ", i))
		message := object{"id": "msg_" + answer, "type": "message", "model": "m", "role": "assistant", "content": said["content"], "usage": object{"input_tokens": 10, "output_tokens": 5}}
		add(object{"type": "assistant", "uuid": answer, "parentUuid": user, "isSidechain": false, "cwd": "/w", "requestRef": ref, "message": message})
		parent = answer
	}
	dir = filepath.Join(t.TempDir(), "projects")
	file := filepath.Join(dir, "-w", id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, int64(out.Len())
}

// askedStore counts the requests that it is asked for.
type askedStore struct {
	store.Store
	asked int
}

func (s *askedStore) Features() store.Features {
	f := s.Store.Features()
	ask := f.ModelRequest
	f.ModelRequest = func(ctx context.Context, ref model.Ref) (request.Request, error) {
		s.asked++
		return ask(ctx, ref)
	}
	return f
}

// A walk over all requests of a session reads each record at most a few times, and asks the store for each request once,
// however many messages the requests share.
func TestRequests_areReadInOnePass(t *testing.T) {
	skip.Sequential(t)
	const turns = 300
	dir, size := recordedSession(t, turns)
	for name, walk := range map[string]func(q *query.Session, line *model.Timeline) int{
		"grep": func(q *query.Session, line *model.Timeline) int {
			hits, err := q.GrepSent(t.Context(), query.SentSearch{Pattern: query.Literal("ask 7 ", query.MatchCase)})
			if err != nil || len(hits) != 1 || len(hits[0].Ranges) != 1 {
				t.Fatalf("%v, %v", hits, err)
			}
			return hits[0].Ranges[0].Requests + 7
		},
		"find": func(q *query.Session, line *model.Timeline) (requests int) {
			x, err := query.ParseExpr(`.messages | length > 100`)
			if err != nil {
				t.Fatal(err)
			}
			turned := 0
			for found, err := range q.FindSent(t.Context(), line, x) {
				if err != nil {
					t.Fatal(err)
				}
				if requests++; found.Turn == query.TurnsTrue {
					turned++
				}
			}
			if turned != 1 {
				t.Errorf("it turned %d times", turned)
			}
			return requests
		},
	} {
		s := &askedStore{Store: openData(t, dir)}
		var requests int
		n, calls := reads(t, func() {
			line := model.NewTimeline(storetest.Headers(t, s, "11111111-2222-4333-8444-000000000001"))
			requests = walk(query.Open(s, line), line)
		})
		t.Logf("%s: %d requests, asked for %d times, %.1f times the file in %d reads", name, requests, s.asked, float64(n)/float64(size), calls)
		if requests != turns {
			t.Errorf("%s: %d requests, want %d", name, requests, turns)
		}
		if s.asked > turns {
			t.Errorf("%s: the store was asked for requests %d times", name, s.asked)
		}
		if n > 6*size {
			t.Errorf("%s: %d bytes of a file of %d were read", name, n, size)
		}
	}
	s := openData(t, dir)
	line := model.NewTimeline(storetest.Headers(t, s, "11111111-2222-4333-8444-000000000001"))
	sent, err := query.RequestAt(t.Context(), s, query.AroundOf(line, line.Head()))
	if err != nil || !sent.Proven || sent.Messages() != 2*turns-1 {
		t.Errorf("the last request has %d messages, proven %t: %v", sent.Messages(), sent.Proven, err)
	}
}
