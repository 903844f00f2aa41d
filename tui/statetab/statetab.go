// Package statetab is the tab with a state as a foldable JSON tree. (In the making by the engineer of the
// tabs: do not write this package, use it.)
package statetab
