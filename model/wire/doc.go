// Package wire defines the messages exchanged when a process shows the session stores of its agents: the
// keys of the actions, requests, answers, and errors. It is the reflection API of Genkit with the actions
// of the Genkit Go design, section 10:
//
//	GET  /api/actions                  the actions that there are, by key
//	POST /api/runAction                {"key":"/session-store/chat/getSnapshot","input":{"snapshotId":"…"}}
//	                                   {"result":{…},"telemetry":{"traceId":""}}
//	                                   {"error":{"code":5,"message":"…","details":{…}}}, with the status 200 as well
//	GET  /api/__health                 200 while the process lives
//
// Hindcast adds to them. The action listSessions tells which sessions there are,
// because nothing else does. metadataOnly has listSnapshots give a header for
// each visit instead of a snapshot for each id, and visit has getSnapshot look
// for one visit. getCursor and getGrowth tell what is new in a session without
// what is old. A state that has blanks around it is there once more as
// "stateBase64". JSON carries text: an id that is not UTF-8 arrives as another.
//
// Both sides share the package.
package wire
