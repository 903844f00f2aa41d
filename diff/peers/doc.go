// Package peers runs other tools beside Hindcast's diff, on the same pairs of
// states. It is a module of its own so that the product does not depend on
// them. README.md says how to run it.
package peers
