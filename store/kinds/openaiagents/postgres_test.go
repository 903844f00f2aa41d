package openaiagents

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// recordedOn returns the URL of a database with what SQLAlchemySession wrote.
func recordedOn(t *testing.T) (string, *pgtest.Cluster) {
	t.Helper()
	c := pgtest.SharedCluster(t)
	return c.Restore(t, recorded("postgres.sql")), c
}

// Sessions in PostgreSQL are listed and read as those of a file, in the order of their times, and an item that
// comes is read alone.
func TestPostgres(t *testing.T) {
	address, c := recordedOn(t)
	reader := c.Role(t, address, "SELECT ON ALL TABLES IN SCHEMA public")
	s := storetest.OpenStore(t, engine.Servers(Kind(nil, "")), reader)
	infos := storetest.Sessions(t, s)
	if len(infos) != 2 || infos[1].ID != "tour" || infos[1].Title != "hello größe" || infos[1].Head.ID != "16" || infos[0].UpdatedAt.IsZero() || infos[0].Snapshots >= 0 {
		t.Errorf("%+v", infos)
	}
	list := storetest.Headers(t, s, "tour")
	if len(list) != 14 || !list[13].Marks.Has(model.MarkInterrupted) || list[0].CreatedAt.IsZero() {
		t.Fatalf("%d items, %+v", len(list), list)
	}
	if got := texts(t, rowstest.State(t, s, "tour", 2)); !slices.Equal(got, []string{"hello größe", "Gern! hello größe 👋", "both please"}) {
		t.Errorf("#2 has %q", got)
	}
	if headers, before, err := s.Features().Tail(t.Context(), "tour", 3); err != nil || len(headers) != 3 || before != 11 {
		t.Error(headers, before, err)
	}
	rowstest.Says(t, s, "tour", 12, "deleted before it: items 13 to 14")
	rowstest.Says(t, s, "tour", 13, `await Runner.run(agent, "…", session=SQLAlchemySession.from_url("tour", url=url))  takes your input as the next turn: the SDK leaves out the call that has no output`)
	at, err := s.Features().Cursor(t.Context(), "async")
	if err != nil {
		t.Fatal(err)
	}
	insert := "INSERT INTO agent_messages (session_id, message_data, created_at) SELECT 'async', '{\"content\":\"%s\",\"role\":\"user\"}', created_at %s FROM agent_messages WHERE id = 18"
	c.Exec(t, address, fmt.Sprintf(insert, "more", "+ interval '2 s'"))
	growth, err := s.Features().Growth(t.Context(), "async", at)
	if err != nil || growth.Rewritten || len(growth.Headers) != 1 || growth.Headers[0].Title != "more" {
		t.Errorf("%+v, %v", growth, err)
	}
	c.Exec(t, address, fmt.Sprintf(insert, "late", "+ interval '1 s'")) // a transaction that began earlier, and took longer
	var titles []string
	for _, h := range storetest.Headers(t, s, "async") {
		titles = append(titles, h.Title)
	}
	if !slices.Equal(titles, []string{"hi", "Gern! hi 👋", "late", "more"}) {
		t.Errorf("the items are %q", titles)
	}
}

// A database holds all that every store holds that is read.
func TestPostgres_read(t *testing.T) {
	address, _ := recordedOn(t)
	storetest.Read(t, Kind(nil, "").Kind, address)
}

// What is written to a database, taken back and done again is at each item what it is in a file.
func TestPostgres_rows(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs without -short")
	}
	address, c := recordedOn(t)
	s := storetest.OpenStore(t, engine.Servers(Kind(nil, t.TempDir())), address)
	storetest.RowsOn(t, storetest.AsWriter(s), func() string { return c.Rows(t, address) }, sessions)
}

// A fork has numbers that the sequence of the table never gives, so that it is as it was after an undo, and no item
// of the SDK meets one of the fork.
func TestPostgres_forkLeavesTheSequence(t *testing.T) {
	address, c := recordedOn(t)
	s := storetest.AsWriter(storetest.OpenStore(t, engine.Servers(Kind(nil, t.TempDir())), address))
	fork := func(session, id, as string) {
		t.Helper()
		apply(t, s, model.Change{Op: model.OpFork, Ref: model.Ref{Session: session, ID: id}, As: as})
	}
	fork("tour", "8", "once")
	last := storetest.Headers(t, s, "once")[7]
	fork("once", last.ID, "twice")
	lowest := 1
	for _, session := range []string{"once", "twice"} {
		list := storetest.Headers(t, s, session)
		for i, h := range list {
			n, err := strconv.Atoi(h.ID)
			if err != nil || n >= 0 || i > 0 && strconv.Itoa(n-1) != list[i-1].ID {
				t.Errorf("#%d of %s is %s", i, session, h.ID)
			}
			lowest = min(lowest, n)
		}
		if len(list) != 8 || len(storetest.Faults(t, s, session)) > 0 {
			t.Errorf("%s has %d items, and the faults %v", session, len(list), storetest.Faults(t, s, session))
		}
		if x, y := rowstest.State(t, s, session, 7), rowstest.State(t, s, "tour", 7); x != y {
			t.Errorf("the state of %s is\n%s\nand not\n%s", session, x, y)
		}
	}
	if lowest != -16 {
		t.Errorf("the lowest number is %d", lowest)
	}
	// The SDK goes on in the fork: it does not go.
	c.Exec(t, address, "INSERT INTO agent_messages (session_id, message_data) VALUES ('twice', '{}')")
	if headers := storetest.Headers(t, s, "twice"); headers[8].ID != "19" {
		t.Errorf("the next item is %s", headers[8].ID)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo}); !errors.Is(err, model.ErrHeadMoved) {
		t.Error(err)
	}
}
