import { newId } from '../foundation/ids.ts';

/**
 * The most slots in the ring of a person's sessions. The slot is three digits of a session's id,
 * and `sessionKey` reads it there.
 */
export const mostSlots = 1000;

/** The random part of a new session's id: 114 bits, `s_b2F…` */
export const newSessionPrefix = (): string => newId('s').slice(0, -3);

/** A session's id: its random part, then the three digits of its slot. */
export const sessionIdInSlot = (prefix: string, slot: number): string =>
  `${prefix}${String(slot).padStart(3, '0')}`;
