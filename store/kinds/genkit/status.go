package genkit

import "time"

// The statuses of a row, SnapshotStatus of ai/exp/gen.go. "" is completed.
const (
	statusPending   = "pending"
	statusAborting  = "aborting" // since Go 1.13
	statusCompleted = "completed"
	statusAborted   = "aborted"
	statusFailed    = "failed"
	// statusExpired is worked out on reading and never written.
	statusExpired = "expired"
)

var knownStatus = map[string]bool{
	"": true, statusPending: true, statusAborting: true, statusCompleted: true, statusAborted: true, statusFailed: true,
}

// knownFinish are the values of AgentFinishReason.
var knownFinish = map[string]bool{
	"stop": true, "length": true, "blocked": true, finishInterrupted: true, "other": true, "unknown": true,
	statusAborted: true, "detached": true, finishFailed: true,
}

const (
	finishInterrupted = "interrupted"
	finishFailed      = "failed"
)

// heartbeatTimeout is how old the sign of life of a worker may be until Genkit
// takes it for dead: defaultHeartbeatTimeout of every SDK.
const heartbeatTimeout = 60 * time.Second

// statusAt returns the status as Genkit shows it at a time: "" is completed, and
// work whose worker has not given a sign of life for a minute has expired. Work
// that never gave one has not.
func (r *row) statusAt(now time.Time) string {
	switch {
	case r.status == "":
		return statusCompleted
	case r.isWorking() && r.isStale(now):
		return statusExpired
	}
	return r.status
}

// isWorking reports whether the row says that its work goes on.
func (r *row) isWorking() bool { return r.status == statusPending || r.status == statusAborting }

// isStale reports whether the last sign of life is too old.
func (r *row) isStale(now time.Time) bool {
	return !r.heartbeat.at.IsZero() && now.Sub(r.heartbeat.at) > heartbeatTimeout
}

// expiresAt returns when work that goes on has expired if no other sign of life comes, the zero time for never.
func (r *row) expiresAt() time.Time {
	if !r.isWorking() || r.heartbeat.at.IsZero() {
		return time.Time{}
	}
	return r.heartbeat.at.Add(heartbeatTimeout + 1)
}
