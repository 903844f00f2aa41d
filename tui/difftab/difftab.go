// Package difftab is the tab with what changed between two states. (In the making by the engineer of the
// tabs: do not write this package, use it.)
package difftab
