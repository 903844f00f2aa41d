package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hindcast/model/jsontape"
)

// CheckpointSchemaVersion is the one version of Strands checkpoints that there
// is: CHECKPOINT_SCHEMA_VERSION of strands.experimental.checkpoint.
const CheckpointSchemaVersion = "1.0"

// The boundaries at which Strands emits a checkpoint.
const (
	// PositionAfterModel: the model asked for tools; they have not run yet.
	PositionAfterModel = "after_model"
	// PositionAfterTools: the tools have finished; the next model call has not
	// happened yet.
	PositionAfterTools = "after_tools"
)

// CheckpointDialect is the spelling of a checkpoint's keys.
type CheckpointDialect uint8

const (
	// CheckpointPython: schema_version, after_model.
	CheckpointPython CheckpointDialect = iota
	// CheckpointTypeScript: schemaVersion, afterModel.
	CheckpointTypeScript
)

var (
	// ErrCheckpointSchema: the schema version is missing or another one.
	ErrCheckpointSchema = errors.New("incompatible schema version")
	// ErrCheckpointShape: it is not a checkpoint: not a JSON object, no
	// position, or a value of the wrong type.
	ErrCheckpointShape = errors.New("not a checkpoint")
)

// CheckpointError says why data is refused as a checkpoint, as the SDK would
// with its CheckpointException. It wraps ErrCheckpointSchema or
// ErrCheckpointShape.
type CheckpointError struct{ Err error }

func (e *CheckpointError) Error() string { return "strands checkpoint: " + e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *CheckpointError) Unwrap() error { return e.Err }

// Checkpoint is the pause-point marker of Strands
// (strands.experimental.checkpoint, class Checkpoint): the boundary and the
// cycle that the agent stopped at. It holds no conversation, and is to be treated as
// opaque: resuming passes it back as it is.
//
// It has the same fields as the class. Strands 1.37 to 1.45 writes all five; since 1.46 Snapshot and
// AppData are gone; the TypeScript SDK writes the same three in camel case. All are read and written.
type Checkpoint struct {
	// Position is the boundary as it was written. The SDK does not check it,
	// so it may be anything; see [Checkpoint.Boundary].
	Position string
	// CycleIndex is the cycle of model call and tools, from 0.
	CycleIndex int64
	// Snapshot and AppData are reserved by the SDK, which neither fills nor
	// reads them. They are kept byte for byte; nil when they are not written.
	Snapshot, AppData json.RawMessage
	// SchemaVersion is always CheckpointSchemaVersion in a checkpoint that
	// was read.
	SchemaVersion string
	// Dialect is the spelling that was read and will be written.
	Dialect CheckpointDialect
}

// checkpointKeys are the keys in the order of the class's fields.
type checkpointKeys struct{ position, cycleIndex, snapshot, appData, schemaVersion string }

func (d CheckpointDialect) memberKeys() checkpointKeys {
	if d == CheckpointTypeScript {
		return checkpointKeys{"position", "cycleIndex", "snapshot", "appData", "schemaVersion"}
	}
	return checkpointKeys{"position", "cycle_index", "snapshot", "app_data", "schema_version"}
}

// Boundary returns the position as PositionAfterModel or PositionAfterTools, whatever its dialect, or "" if
// the position is unknown.
func (c Checkpoint) Boundary() string {
	switch c.Position {
	case PositionAfterModel, "afterModel":
		return PositionAfterModel
	case PositionAfterTools, "afterTools":
		return PositionAfterTools
	}
	return ""
}

// CheckpointFromDict reads a checkpoint from the JSON of its to_dict, as the
// SDK's from_dict does: the schema version is checked first, a missing position
// is an error, a missing cycle index is 0, and keys that it does not know are
// ignored with a warning. The error is a [CheckpointError].
func CheckpointFromDict(data []byte) (c Checkpoint, warnings []string, err error) {
	members := make(map[string]json.RawMessage)
	err = eachMember(data, func(key string, value json.RawMessage) error {
		if _, twice := members[key]; twice {
			warnings = append(warnings, fmt.Sprintf("key %.40q is written more than once; the last one counts", key))
		}
		members[key] = value
		return nil
	})
	if err != nil {
		return Checkpoint{}, nil, &CheckpointError{fmt.Errorf("%w: %w", ErrCheckpointShape, err)}
	}
	c, err = checkpointFrom(members)
	if err != nil {
		return Checkpoint{}, nil, &CheckpointError{err}
	}
	if len(members) > 0 {
		unknown := make([]string, 0, len(members))
		for key := range members {
			unknown = append(unknown, key)
		}
		warnings = append(warnings, unknownKeys(unknown))
	}
	return c, warnings, nil
}

// checkpointFrom takes the members of a checkpoint out of members.
func checkpointFrom(members map[string]json.RawMessage) (Checkpoint, error) {
	c := Checkpoint{}
	keys := c.Dialect.memberKeys()
	if _, python := members[keys.schemaVersion]; !python {
		camel := CheckpointTypeScript.memberKeys()
		if _, camelCase := members[camel.schemaVersion]; camelCase {
			c.Dialect, keys = CheckpointTypeScript, camel
		}
	}
	take := func(key string) json.RawMessage {
		value := members[key]
		delete(members, key)
		return value
	}
	version := take(keys.schemaVersion)
	if json.Unmarshal(version, &c.SchemaVersion) != nil || c.SchemaVersion != CheckpointSchemaVersion {
		return c, fmt.Errorf("%w: Checkpoints with schema version '%s' are not compatible with current version %s",
			ErrCheckpointSchema, shownVersion(version), CheckpointSchemaVersion)
	}
	position := take(keys.position)
	if position == nil {
		return c, fmt.Errorf("%w: it has no position", ErrCheckpointShape)
	}
	if position[0] != '"' {
		return c, fmt.Errorf("%w: position %.40q is not a string", ErrCheckpointShape, position)
	}
	if err := json.Unmarshal(position, &c.Position); err != nil {
		return c, fmt.Errorf("%w: position: %w", ErrCheckpointShape, err)
	}
	if cycle := take(keys.cycleIndex); cycle != nil {
		n, err := strconv.ParseInt(string(cycle), 10, 64)
		if err != nil {
			return c, fmt.Errorf("%w: %s %.40q is not an integer", ErrCheckpointShape, keys.cycleIndex, cycle)
		}
		c.CycleIndex = n
	}
	c.Snapshot, c.AppData = take(keys.snapshot), take(keys.appData)
	return c, nil
}

// shownVersion returns a schema version as the SDK's message shows it, made safe
// to print.
func shownVersion(version json.RawMessage) string {
	text := ""
	if json.Unmarshal(version, &text) != nil {
		text = string(version)
	}
	quoted := fmt.Sprintf("%.40q", text)
	return quoted[1 : len(quoted)-1]
}

// unknownKeys words the warning about keys that are ignored.
func unknownKeys(keys []string) string {
	const most = 10
	slices.Sort(keys)
	text := make([]string, 0, most)
	for _, key := range keys[:min(most, len(keys))] {
		text = append(text, fmt.Sprintf("%.40q", key))
	}
	warning := "unknown keys are ignored: " + strings.Join(text, ", ")
	if rest := len(keys) - most; rest > 0 {
		warning += fmt.Sprintf(" and %d more", rest)
	}
	return warning
}

// ToDict returns the checkpoint as JSON, in its dialect and the order of the
// class, as json.dumps(ckpt.to_dict()) writes it. Snapshot and AppData are there
// byte for byte if they are not nil.
func (c Checkpoint) ToDict() []byte {
	keys := c.Dialect.memberKeys()
	var dst []byte
	member := func(separator, key string) {
		dst = append(dst, separator...)
		dst = jsontape.AppendBriefly(dst, key)
		dst = append(dst, ": "...)
	}
	member("{", keys.position)
	dst = jsontape.AppendBriefly(dst, c.Position)
	member(", ", keys.cycleIndex)
	dst = strconv.AppendInt(dst, c.CycleIndex, 10)
	if c.Snapshot != nil {
		member(", ", keys.snapshot)
		dst = append(dst, c.Snapshot...)
	}
	if c.AppData != nil {
		member(", ", keys.appData)
		dst = append(dst, c.AppData...)
	}
	member(", ", keys.schemaVersion)
	dst = jsontape.AppendBriefly(dst, c.SchemaVersion)
	return append(dst, '}')
}

// ResumePayload returns the input that makes the agent go on from here, as JSON:
// what is passed to the agent in place of a prompt.
func (c Checkpoint) ResumePayload() []byte {
	dst := append([]byte(nil), `{"checkpointResume": {"checkpoint": `...)
	dst = append(dst, c.ToDict()...)
	return append(dst, "}}"...)
}

// MarshalJSON is ToDict. Note that json.Marshal then takes the spaces out, also
// of Snapshot and AppData.
func (c Checkpoint) MarshalJSON() ([]byte, error) { return c.ToDict(), nil }

// UnmarshalJSON is CheckpointFromDict without the warnings.
func (c *Checkpoint) UnmarshalJSON(data []byte) error {
	read, _, err := CheckpointFromDict(data)
	if err != nil {
		return err
	}
	*c = read
	return nil
}
