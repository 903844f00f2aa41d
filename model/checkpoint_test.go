package model

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const checkpointFixtures = "../testdata/strands/checkpoints"

func TestCheckpoint_readsEveryShape(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     Checkpoint
		dict     string // "" for in
		boundary string
	}{
		{name: "since 1.46", in: `{"position": "after_model", "cycle_index": 0, "schema_version": "1.0"}`,
			want: Checkpoint{Position: "after_model", SchemaVersion: "1.0"}, boundary: PositionAfterModel},
		{name: "1.37 to 1.45", in: `{"position": "after_tools", "cycle_index": 3, "snapshot": {}, "app_data": {}, "schema_version": "1.0"}`,
			want:     Checkpoint{Position: "after_tools", CycleIndex: 3, Snapshot: json.RawMessage(`{}`), AppData: json.RawMessage(`{}`), SchemaVersion: "1.0"},
			boundary: PositionAfterTools},
		{name: "TypeScript", in: `{"position":"afterTools","cycleIndex":2,"schemaVersion":"1.0"}`,
			want: Checkpoint{Position: "afterTools", CycleIndex: 2, SchemaVersion: "1.0", Dialect: CheckpointTypeScript},
			dict: `{"position": "afterTools", "cycleIndex": 2, "schemaVersion": "1.0"}`, boundary: PositionAfterTools},
		{name: "TypeScript before the model", in: `{"schemaVersion":"1.0","position":"afterModel","cycleIndex":1}`,
			want: Checkpoint{Position: "afterModel", CycleIndex: 1, SchemaVersion: "1.0", Dialect: CheckpointTypeScript},
			dict: `{"position": "afterModel", "cycleIndex": 1, "schemaVersion": "1.0"}`, boundary: PositionAfterModel},
		{name: "reserved fields keep their bytes", in: `{"position": "after_model", "cycle_index": 0, "snapshot": {"b" : 1.50, "a":"<\u00e9>", "n": 9007199254740993},` +
			` "app_data": {"note": "x",  "note": "y"}, "schema_version": "1.0"}`,
			want: Checkpoint{Position: "after_model", Snapshot: json.RawMessage(`{"b" : 1.50, "a":"<\u00e9>", "n": 9007199254740993}`),
				AppData: json.RawMessage(`{"note": "x",  "note": "y"}`), SchemaVersion: "1.0"}, boundary: PositionAfterModel},
		{name: "no cycle", in: `{"position":"after_model","schema_version":"1.0"}`,
			want: Checkpoint{Position: "after_model", SchemaVersion: "1.0"},
			dict: `{"position": "after_model", "cycle_index": 0, "schema_version": "1.0"}`, boundary: PositionAfterModel},
		{name: "a position that the SDK does not check", in: `{"position": "after \"lunch\" <ü>", "cycle_index": -1, "schema_version": "1.0"}`,
			want: Checkpoint{Position: `after "lunch" <ü>`, CycleIndex: -1, SchemaVersion: "1.0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, warnings, err := CheckpointFromDict([]byte(test.in))
			if err != nil || len(warnings) > 0 || !reflect.DeepEqual(got, test.want) {
				t.Fatalf("%+v, %v, %v; not %+v", got, warnings, err, test.want)
			}
			if test.dict == "" {
				test.dict = test.in
			}
			if dict := string(got.ToDict()); dict != test.dict {
				t.Errorf("written as\n%s\nnot\n%s", dict, test.dict)
			}
			if payload, want := string(got.ResumePayload()), `{"checkpointResume": {"checkpoint": `+test.dict+`}}`; payload != want {
				t.Errorf("resumed with\n%s\nnot\n%s", payload, want)
			}
			if got.Boundary() != test.boundary {
				t.Errorf("boundary %q, not %q", got.Boundary(), test.boundary)
			}
			var again Checkpoint
			if err := json.Unmarshal(mustMarshal(t, got), &again); err != nil || again.Position != got.Position || again.Dialect != got.Dialect {
				t.Errorf("through encoding/json: %+v, %v", again, err)
			}
		})
	}
}

func TestCheckpoint_warnsAsTheSDKDoes(t *testing.T) {
	in := `{"position":"after_model","cycle_index":0,"schema_version":"1.0","mood":"good","cycleIndex":7,"position":"after_tools","\u001b[31m":1}`
	got, warnings, err := CheckpointFromDict([]byte(in))
	if err != nil || got.Position != "after_tools" || got.CycleIndex != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	want := []string{
		`key "position" is written more than once; the last one counts`,
		`unknown keys are ignored: "\x1b[31m", "cycleIndex", "mood"`,
	}
	if !reflect.DeepEqual(warnings, want) {
		t.Errorf("warnings %q, not %q", warnings, want)
	}
	if strings.Contains(string(got.ToDict()), "mood") {
		t.Errorf("written as %s", got.ToDict())
	}
}

func TestCheckpoint_refuses(t *testing.T) {
	const other = "Checkpoints with schema version '%' are not compatible with current version 1.0"
	for _, test := range []struct {
		in   string
		is   error
		text string
	}{
		{`{"position":"after_model","cycle_index":0}`, ErrCheckpointSchema, strings.Replace(other, "%", "", 1)},
		{`{}`, ErrCheckpointSchema, strings.Replace(other, "%", "", 1)},
		{`{"position":"after_model","schema_version":"2.0"}`, ErrCheckpointSchema, strings.Replace(other, "%", "2.0", 1)},
		{`{"position":"afterModel","schemaVersion":"1.1"}`, ErrCheckpointSchema, strings.Replace(other, "%", "1.1", 1)},
		{`{"position":"after_model","schema_version":1.0}`, ErrCheckpointSchema, strings.Replace(other, "%", "1.0", 1)},
		{`{"position":"after_model","schema_version":null}`, ErrCheckpointSchema, strings.Replace(other, "%", "", 1)},
		{`{"position":"after_model","SCHEMA_VERSION":"1.0"}`, ErrCheckpointSchema, strings.Replace(other, "%", "", 1)},
		{`{"schema_version":"\u001b[2J"}`, ErrCheckpointSchema, strings.Replace(other, "%", `\x1b[2J`, 1)},
		{`{"schema_version":"1.0"}`, ErrCheckpointShape, "it has no position"},
		{`{"schema_version":"1.0","position":7}`, ErrCheckpointShape, "position"},
		{`{"schema_version":"1.0","position":null}`, ErrCheckpointShape, "position"},
		{`{"schema_version":"1.0","position":"after_model","cycle_index":1.5}`, ErrCheckpointShape, "cycle_index"},
		{`{"schemaVersion":"1.0","position":"afterModel","cycleIndex":"1"}`, ErrCheckpointShape, "cycleIndex"},
		{`{"schema_version":"1.0","position":"after_model","cycle_index":99999999999999999999}`, ErrCheckpointShape, "cycle_index"},
		{`[]`, ErrCheckpointShape, "byte 1"},
		{`null`, ErrCheckpointShape, "byte 4"},
		{``, ErrCheckpointShape, "unexpected EOF"},
		{`{"position":"after_mo`, ErrCheckpointShape, "unexpected EOF"},
		{"\ufeff{}", ErrCheckpointShape, "byte 1"},
		{`{} {}`, ErrCheckpointShape, "byte"},
		{`{"schema_version":"1.0","snapshot":` + strings.Repeat("[", 100_000), ErrCheckpointShape, "byte"},
	} {
		c, warnings, err := CheckpointFromDict([]byte(test.in))
		var named *CheckpointError
		if !errors.As(err, &named) || !errors.Is(err, test.is) {
			t.Errorf("%.60q: %v; not a CheckpointError for %v", test.in, err, test.is)
			continue
		}
		if !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 300 {
			t.Errorf("%.60q: the error is %q, without %q", test.in, err, test.text)
		}
		if !reflect.DeepEqual(c, Checkpoint{}) || warnings != nil {
			t.Errorf("%.60q: %+v, %v besides the error", test.in, c, warnings)
		}
	}
}

// The files that the SDK wrote, of a run that paused at every boundary.
func TestCheckpoint_readsWhatTheSDKWrote(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(checkpointFixtures, "checkpoint_[0-9]_*.json"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	positions := []string{PositionAfterModel, PositionAfterTools, PositionAfterModel, PositionAfterTools}
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, warnings, err := CheckpointFromDict(data)
		want := Checkpoint{Position: positions[i], CycleIndex: int64(i / 2), SchemaVersion: CheckpointSchemaVersion}
		if err != nil || len(warnings) > 0 || !reflect.DeepEqual(c, want) {
			t.Errorf("%s: %+v, %v, %v; not %+v", file, c, warnings, err, want)
		}
		if !sameJSON(t, data, c.ToDict()) {
			t.Errorf("%s is written as %s", file, c.ToDict())
		}
	}
	// The results of the run carry the same checkpoints.
	data, err := os.ReadFile(filepath.Join(checkpointFixtures, "checkpoint_run_log.json"))
	if err != nil {
		t.Fatal(err)
	}
	var log []struct {
		StopReason string `json:"stop_reason"`
		Checkpoint *Checkpoint
	}
	if err := json.Unmarshal(data, &log); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for i, result := range log {
		if (result.Checkpoint != nil) != (result.StopReason == "checkpoint") {
			t.Errorf("result %d stopped for %q with %+v", i, result.StopReason, result.Checkpoint)
		}
		if result.Checkpoint == nil {
			continue
		}
		if result.Checkpoint.Position != positions[seen] {
			t.Errorf("result %d is at %q", i, result.Checkpoint.Position)
		}
		seen++
	}
	if seen != 4 {
		t.Errorf("%d checkpoints in the log", seen)
	}
}

// sameJSON compares two JSON texts without their spaces, key order and all.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	return string(mustMarshal(t, json.RawMessage(a))) == string(mustMarshal(t, json.RawMessage(b)))
}

func FuzzCheckpoint(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(checkpointFixtures, "*.json"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"position":"afterTools","cycleIndex":2,"schemaVersion":"1.0","appData":{"a":[1e999,"\ud800"]},"x":0}`))
	f.Add([]byte(`{"position":"","cycle_index":-0,"snapshot":null,"app_data":7,"schema_version":"1.0"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, _, err := CheckpointFromDict(data)
		if err != nil {
			var named *CheckpointError
			if !errors.As(err, &named) {
				t.Fatalf("%v is a %T", err, err)
			}
			return
		}
		again, warnings, err := CheckpointFromDict(c.ToDict())
		if err != nil || len(warnings) > 0 || !reflect.DeepEqual(again, c) {
			t.Fatalf("%+v comes back as %+v, %v, %v", c, again, warnings, err)
		}
		if !json.Valid(c.ResumePayload()) {
			t.Fatalf("not JSON: %s", c.ResumePayload())
		}
	})
}
