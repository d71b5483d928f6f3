/** The values of an attribute that a pattern accepts, by the attribute's type. */
type AttributePattern = { S: [{ exists: boolean }] } | { N: string[] };

/** Changes of an item, as Lambda filters the records of a stream. */
export interface ChangePattern {
  eventName?: ('INSERT' | 'REMOVE')[];
  /** The item before and after the change. */
  dynamodb?: {
    OldImage?: Record<string, AttributePattern>;
    NewImage?: Record<string, AttributePattern>;
  };
}

/** The presence of an attribute that is a text. Its type is a leaf, as `exists` needs it. */
export const present: AttributePattern = { S: [{ exists: true }] };

/** The absence of such an attribute, or of the whole image. */
export const absent: AttributePattern = { S: [{ exists: false }] };
