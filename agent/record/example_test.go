package record_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hindcast/agent/record"
	"hindcast/store/native/sqlite"
)

// Message is a message of the examples' loops.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// ask stands for a call of a model.
func ask(messages []Message) Message {
	return Message{"assistant", fmt.Sprintf("that was message %d", len(messages))}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A loop of your own, and three lines.
func Example() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "record"))
	defer os.RemoveAll(dir)

	db := must(sqlite.OpenOrCreate(ctx, filepath.Join(dir, "chat.db")))
	defer db.Close()
	rec := must(record.Open(ctx, db, "first")) // 1

	var messages []Message
	if _, err := rec.LoadState(&messages); err != nil { // 2: where the program stopped, or you put it back to
		panic(err)
	}
	for _, prompt := range []string{"hello", "and now?"} {
		messages = append(messages, Message{"user", prompt})
		answer := ask(messages)
		messages = append(messages, answer)
		fmt.Println(answer.Content)
		if err := rec.Turn(ctx, messages); err != nil { // 3
			panic(err)
		}
	}
	head, _ := rec.LastVisit()
	fmt.Printf("#%d, %d messages\n", head.Index, len(messages))
	// Output:
	// that was message 1
	// that was message 3
	// #1, 4 messages
}

// Rows of a program that have ids of its own, and are written again when they are complete.
func ExampleWithAlias() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "record"))
	defer os.RemoveAll(dir)
	db := must(sqlite.OpenOrCreate(ctx, filepath.Join(dir, "chat.db")))
	defer db.Close()

	rec := must(record.Open(ctx, db, "first"))
	messages := []Message{{"user", "hello"}}
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	check(rec.Turn(ctx, messages, record.WithAlias("turn-1"), record.WithAttribute("status", "pending")))
	messages = append(messages, ask(messages))
	check(rec.Turn(ctx, messages, record.WithAlias("turn-1"), record.WithAttribute("status", "completed"), record.WithAttribute("finishReason", "stop")))
	check(rec.Turn(ctx, append(messages, Message{"user", "wrong way"}), record.WithAlias("turn-2")))

	// Another process finds the row by its id, and goes on from it.
	again := must(record.Open(ctx, db, "first"))
	check(again.GoBack(ctx, "turn-1", &messages))
	check(again.Turn(ctx, append(messages, Message{"user", "right way"}), record.WithAlias("turn-3")))
	for h, err := range db.Headers(ctx, "first") {
		check(err)
		fmt.Println(h.Index, h.ProgramText(), h.Orphaned)
	}
	// Output:
	// 0 {turn-1, status=completed, finishReason=stop} false
	// 1 {turn-2} true
	// 1 {turn-3} false
}
