package remote_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hindcast/agent/serve"
	"hindcast/model"
	"hindcast/model/wire"
	"hindcast/store"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
)

// withAgent serves a store of sessions as serve does, and the agent itself beside
// it, as Genkit does. ran is handed what the agent is asked, and answers.
func withAgent(t *testing.T, sessions serve.Store, ran http.HandlerFunc) string {
	t.Helper()
	h, err := serve.New([]serve.Agent{{Name: "chat", Store: sessions}})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("GET "+wire.ActionsPath, func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		var list map[string]json.RawMessage
		if err := json.Unmarshal(answer.Body.Bytes(), &list); err != nil {
			t.Error(err)
		}
		list["/agent/chat"] = json.RawMessage(`{"key":"/agent/chat","name":"chat"}`)
		if err := json.NewEncoder(w).Encode(list); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("POST "+wire.RunPath, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"/agent/chat"`)) {
			ran(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
	return serveHTTP(t, mux)
}

func TestRun_onlyAsAPlan(t *testing.T) {
	original := fake.New()
	fill(t, original, sample.Rows())
	runs := 0
	answer := `{"turnEnd":{}}` + "\n" + `{"result":{"finishReason":"stop","snapshotId":%q}}`
	var target, head model.Header
	s := open(t, withAgent(t, original, func(w http.ResponseWriter, r *http.Request) {
		runs++
		body, _ := io.ReadAll(r.Body)
		want := fmt.Sprintf(`{"key":"/agent/chat","init":{"snapshotId":%q},"input":{"message":{"role":"user","content":[{"text":"go on"}]}}}`, target.ID)
		if string(body) != want {
			t.Errorf("it is asked %s", body)
		}
		fmt.Fprintf(w, answer, head.ID)
	}))
	for h, err := range s.Headers(t.Context(), sample.Trip) {
		if err != nil {
			t.Fatal(err)
		}
		if target.ID == "" {
			target = h
		}
		if h.Head {
			head = h
		}
	}
	if why := store.Reason(s, model.OpRun); why != "" {
		t.Errorf("the reason is %q", why)
	}
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRun, Ref: target.Ref(), Input: "go on"})
	if err != nil {
		t.Fatal(err)
	}
	if runs != 0 {
		t.Error("to plan runs the agent")
	}
	if !strings.Contains(strings.Join(plan.Asks, "\n"), "models and tools run") || plan.Head.ID != head.ID || plan.Target.ID != target.ID {
		t.Errorf("the plan is %+v", plan)
	}
	receipt, err := s.Apply(t.Context(), plan)
	if err != nil || receipt.Head.ID != head.ID || receipt.Head.Index != head.Index || runs != 1 {
		t.Errorf("%+v, %v, %d runs", receipt, err, runs)
	}
	// An error inside 200 is one.
	answer = `{"error":{"code":9,"message":"not resumable %s"}}`
	if _, err := s.Apply(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "not resumable") {
		t.Errorf("the error is %v", err)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRun, Ref: model.Ref{Session: sample.Trip, ID: "none"}, Input: "x"}); !errors.Is(err, model.ErrNoSnapshot) {
		t.Errorf("the error is %v", err)
	}
	if _, err := s.Apply(t.Context(), model.Plan{Op: model.OpRun}); err == nil {
		t.Error("a plan that is none is carried out")
	}
}

func TestRun_whereThereIsNoAgent(t *testing.T) {
	original := fake.New()
	fill(t, original, sample.Rows())
	s := open(t, start(t, serve.Agent{Name: "chat", Store: original}))
	if why := store.Reason(s, model.OpRun); !strings.Contains(why, "no action that runs one") {
		t.Errorf("the reason is %q", why)
	}
	_, err := s.Plan(t.Context(), model.Change{Op: model.OpRun, Ref: model.Ref{Session: sample.Trip, ID: "x"}, Input: "x"})
	if refused := (*model.UnsupportedError)(nil); !errors.As(err, &refused) {
		t.Errorf("the error is %v", err)
	}
}
