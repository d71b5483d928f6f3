/** A body that is not parsed at all. Each endpoint refuses it as it refuses any body that is not what it should be. */
export class UnparsableBody extends Error {
  override readonly name = 'UnparsableBody';
}
