package model

import (
	"time"
	"unicode"
)

// reasonNames are the JSON names of the kinds.
var reasonNames = [...]string{
	ReasonUnknown:      "unknown",
	ReasonRestore:      "restore",
	ReasonSecondLeaf:   "secondLeaf",
	ReasonFailedLeaf:   "failedLeaf",
	ReasonParentPruned: "parentPruned",
	ReasonPointer:      "pointer",
	ReasonRewind:       "rewind",
	ReasonCycle:        "cycle",
	ReasonRepair:       "repair",
	ReasonUndo:         "undo",
	ReasonOverwritten:  "overwritten",
	ReasonSidechain:    "sidechain",
	ReasonDamaged:      "damaged",
	ReasonCompaction:   "compaction",
	ReasonChainBroken:  "chainBroken",
	ReasonWentOn:       "wentOn",
	ReasonForked:       "forked",
	ReasonUpdated:      "updated",
	ReasonDropped:      "dropped",
}

// moved are the kinds by the event of the visit that went on from an earlier snapshot; others went on.
var moved = map[string]ReasonKind{"fork": ReasonForked, "update": ReasonUpdated}

// String returns the kind's JSON name.
func (k ReasonKind) String() string {
	if int(k) < len(reasonNames) {
		return reasonNames[k]
	}
	return reasonNames[ReasonUnknown]
}

// InWords returns the kind in words for people: "second leaf".
func (k ReasonKind) InWords() string {
	var words []rune
	for _, r := range k.String() {
		if unicode.IsUpper(r) {
			words = append(words, ' ')
		}
		words = append(words, unicode.ToLower(r))
	}
	return string(words)
}

// ParseReasonKind returns the kind of a JSON name, ReasonUnknown if the name is unknown.
func ParseReasonKind(name string) ReasonKind {
	for k, known := range reasonNames {
		if name == known {
			return ReasonKind(k)
		}
	}
	return ReasonUnknown
}

// Text returns the reason in words for people, such as "left by a restore to #2
// at 12:05". clock writes the time; it is only called when the time is known.
// There is no untrusted data in the words.
func (r Reason) Text(clock func(time.Time) string) string {
	text := ""
	switch r.Kind {
	case ReasonRestore:
		text = "left by a restore"
		switch {
		case r.TargetID != "":
			text += " to " + nameOr(r.TargetName, r.TargetIndex)
		default:
			text += " to the start"
		}
	case ReasonWentOn, ReasonForked, ReasonUpdated:
		text = map[ReasonKind]string{
			ReasonWentOn: "left when the agent went on from ", ReasonForked: "left by a fork from ", ReasonUpdated: "left by an update of the state of ",
		}[r.Kind]
		if r.TargetID == "" {
			text += "the start"
		} else {
			text += nameOr(r.TargetName, r.TargetIndex)
		}
	case ReasonRewind:
		text = "cut off by a rewind"
		if r.TargetID != "" {
			text += " to " + nameOr(r.TargetName, r.TargetIndex)
		}
	case ReasonSecondLeaf:
		text = "another branch was chosen"
	case ReasonFailedLeaf:
		text = "the step failed or was aborted"
	case ReasonParentPruned:
		text = "its parent is no longer in the store"
	case ReasonPointer:
		text = "the framework's pointer names another snapshot"
	case ReasonCycle:
		text = "its lineage runs in a circle"
	case ReasonRepair:
		text = "replaced by a repair"
	case ReasonUndo:
		text = "made by a write that was undone"
	case ReasonOverwritten:
		text = "an agent wrote over it"
	case ReasonSidechain:
		text = "a sub-agent's own conversation"
	case ReasonDamaged:
		text = "in a damaged record, which the agent passes over"
	case ReasonCompaction:
		text = "before a compaction"
		if r.TargetID != "" {
			text = "in a compaction of what followed " + nameOr(r.TargetName, r.TargetIndex)
		}
	case ReasonDropped:
		text = "no longer in the conversation"
	case ReasonChainBroken:
		text = "chain broken: its parent was never written"
		if r.TargetID != "" {
			text = "chain broken: what follows it was written behind " + nameOr(r.TargetName, r.TargetIndex)
		}
	default:
		text = "nothing tells why"
	}
	if !r.At.IsZero() {
		text += " at " + clock(r.At)
	}
	return text
}
