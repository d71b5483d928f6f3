/** What one search cost. */
export interface Measurement {
  /** How many the access request has. */
  events: number;
  filter: string;
  page: 'first' | 'middle' | 'last';
  /** Of the store. */
  requests: number;
  /** Read capacity units. */
  units: number;
  /** The median. */
  milliseconds: number;
}
