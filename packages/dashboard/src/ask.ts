import type { Refusal } from './api.js'

/** An answer, or why there is none. */
export type Asked<T> =
  { readonly state: 'answered'; readonly answer: T } | { readonly state: 'refused'; readonly reason: string }

/** Asks the server, and never rejects. */
export async function ask<T extends object>(path: string, question?: unknown): Promise<Asked<T>> {
  try {
    const response = await fetch(`api/${path}`, question === undefined ? {} : post(question))
    const body = (await response.json()) as T | Refusal // the server is of the same version
    return isRefusal(body) ? { state: 'refused', reason: body.error } : { state: 'answered', answer: body }
  } catch {
    return { state: 'refused', reason: 'osm dashboard does not answer; start it again' }
  }
}

function isRefusal(body: object): body is Refusal {
  return 'error' in body
}

function post(question: unknown): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(question) }
}
