// The tree over ordered bins in which `ranges` counts: `Tree` in shuffledp.estimators.tree of the Python package.

/** Nodes without the root are numbered from 0: level 1 from left to right, then level 2, up to the leaves. */
export class Tree {
  /**
   * @param {number} leaves
   * @param {number} branching the most children of a node, at least 2
   */
  constructor(leaves, branching) {
    this.leaves = leaves;
    this.branching = branching;
    const upwards = [leaves];
    while (upwards[upwards.length - 1] > branching) upwards.push(Math.ceil(upwards[upwards.length - 1] / branching));
    /** The number of nodes of each level, from level 1 to the leaves. */
    this.sizes = upwards.reverse();
    let nodes = 0;
    /** The number of the first node of each level. */
    this.starts = this.sizes.map((size) => (nodes += size) - size);
    /** The number of nodes without the root. */
    this.nodes = nodes;
    /** The number of leaves of a node of each level, except for the last node. */
    this.widths = this.sizes.map((_, level) => branching ** (this.levels - 1 - level));
  }

  /** The number of levels below the root. */
  get levels() {
    return this.sizes.length;
  }

  /**
   * The nodes that contain a leaf, one on each level.
   * @param {number} leaf
   */
  path(leaf) {
    return this.widths.map((width, level) => Math.floor(leaf / width) + this.starts[level]);
  }

  /**
   * The first leaf of a node, and the leaf after its last.
   * @param {number} node
   * @returns {[number, number]}
   */
  leavesOf(node) {
    const level = this.starts.findLastIndex((start) => start <= node);
    const [at, width] = [node - this.starts[level], this.widths[level]];
    return [at * width, Math.min((at + 1) * width, this.leaves)];
  }
}
