import { useEffect, useState } from 'preact/hooks'

import type { Sections } from './api.js'

/** What the page knows: sections that were not heard of yet are absent. */
export type LiveMesh = Partial<Sections>

const names = [
  'mesh',
  'topology',
  'proxies',
  'traffic',
  'pushes',
  'problems',
  'fault',
] as const satisfies (keyof Sections)[]

/** The sections of the mesh, which the server keeps up to date. The browser connects again by itself. */
export function useLiveMesh(): LiveMesh {
  const [live, setLive] = useState<LiveMesh>({})
  useEffect(() => {
    const events = new EventSource('api/events')
    for (const name of names)
      events.addEventListener(name, (event: MessageEvent<string>) => {
        const value = JSON.parse(event.data) as unknown // the server is of the same version
        setLive((before) => ({ ...before, [name]: value }))
      })
    events.addEventListener('error', () =>
      setLive((before) => ({
        ...before,
        fault: 'osm dashboard does not answer; start it again, or load the page and sign in again',
      })),
    )
    return () => events.close()
  }, [])
  return live
}
