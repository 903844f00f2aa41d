package agent_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"hindcast/agent"
	"hindcast/model"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/native/postgres"
	"hindcast/store/native/typed"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// TestPostgres_isRecordedIntoAsAFileIs: two programs record into one database, as the README
// shows it. One is put back, goes on from there, and the one that knows nothing of it is
// told.
func TestPostgres_isRecordedIntoAsAFileIs(t *testing.T) {
	t.Setenv("DATABASE_URL", pgtest.SharedCluster(t).Database(t))
	ctx := t.Context()
	must := func(db *postgres.Store, err error) *postgres.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	define := func(db *postgres.Store) *agent.Agent[ChatState, string, string] {
		t.Helper()
		a, err := agent.Define("chat", chatting, agent.WithSessionStore(typed.Of[ChatState](db)),
			agent.WithSnapshotCallback(agent.SnapshotOnChange[ChatState](model.SnapshotEventTurnEnd)))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	db := must(postgres.OpenOrCreate(ctx, os.Getenv("DATABASE_URL")))
	page, err := os.ReadFile("README.md")
	if err != nil || !strings.Contains(string(page), "```go\n\tdb := must(postgres.OpenOrCreate(ctx, os.Getenv(\"DATABASE_URL\")))\n```") {
		t.Error("the README shows something else", err)
	}
	other := must(postgres.Open(ctx, os.Getenv("DATABASE_URL")))
	here, there := define(db), define(other)
	session := agent.WithSessionID[ChatState]("first")
	converse(here, []agent.BidiOption[ChatState]{session}, "one")
	converse(there, []agent.BidiOption[ChatState]{session}, "two")
	conn, err := here.StreamBidi(context.Background(), session)
	if err != nil {
		t.Fatal(err)
	}
	first, err := db.GetSnapshotIn(ctx, "first", headers(t, db, "first")[0].ID)
	if err != nil || len(headers(t, db, "first")) != 2 {
		t.Fatal(headers(t, db, "first"), err)
	}
	plan, err := other.Plan(ctx, model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "first", ID: first.ID}})
	if err == nil {
		_, err = other.Apply(ctx, plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	err = conn.Send("three")
	for _, failed := range conn.Receive() {
		err = errors.Join(err, failed)
	}
	conn.Close()
	_, failed := conn.Output()
	if err = errors.Join(err, failed); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("a program that was overtaken: %v", err)
	}
	out := converse(there, []agent.BidiOption[ChatState]{session}, "four")
	if got := strings.Join(out.State.Messages, ", "); got != "one, about one, four, about four" {
		t.Errorf("put back, it goes on to %s", got)
	}
}
