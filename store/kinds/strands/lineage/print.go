package lineage

import (
	"crypto/sha256"
	"encoding/binary"
)

// Print stands for one message. It is the same in every process, so that it can
// be kept.
type Print uint64

// byID is the bit that tells a print of an id from one of a content.
const byID Print = 1

// OfID returns the print of a message that has an id.
func OfID(id string) Print { return OfContent([]byte(id)) | byID }

// OfContent returns the print of a message without an id, from its content.
func OfContent(content []byte) Print {
	sum := sha256.Sum256(content)
	return Print(binary.LittleEndian.Uint64(sum[:])) &^ byID
}

// ByID reports whether the message has an id.
func (p Print) ByID() bool { return p&byID != 0 }
