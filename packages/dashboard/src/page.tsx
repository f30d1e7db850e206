import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { type LiveMesh, useLiveMesh } from './live-mesh.js'
import { ProblemsView } from './views/problems.js'
import { ProxiesView } from './views/proxies.js'
import { PushesView } from './views/pushes.js'
import { TopologyView } from './views/topology.js'
import { WhyView } from './views/why.js'

interface View {
  readonly title: string
  readonly show: (live: LiveMesh) => JSX.Element
  /** How many things want attention. */
  readonly count?: (live: LiveMesh) => number
}

const views: Readonly<Record<string, View>> = {
  topology: { title: 'Topology', show: (live) => <TopologyView live={live} /> },
  why: { title: 'Why', show: (live) => <WhyView live={live} /> },
  proxies: { title: 'Proxies', show: ({ proxies }) => <ProxiesView proxies={proxies} /> },
  pushes: { title: 'Pushes', show: ({ pushes }) => <PushesView pushes={pushes} /> },
  problems: {
    title: 'Problems',
    show: ({ problems }) => <ProblemsView problems={problems} />,
    count: ({ problems = [] }) => problems.length,
  },
}

/** The whole page. The part of the address behind # names the view, so that links and the browser's history work. */
export function Page(): JSX.Element {
  const live = useLiveMesh()
  const current = useCurrentView()
  const view = views[current] ?? views['topology']
  return (
    <>
      <header>
        <button class="skip" onClick={() => document.querySelector('main')?.focus()}>
          Skip to content
        </button>
        <h1>osm dashboard</h1>
        <nav aria-label="Views">
          <ul>
            {Object.entries(views).map(([name, { title, count }]) => (
              <li key={name}>
                <a href={`#${name}`} aria-current={name === current ? 'page' : undefined}>
                  {title}
                  {count !== undefined && live.problems !== undefined && ` (${count(live)})`}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <span class="where">{live.mesh?.title}</span>
      </header>
      {live.fault !== undefined && live.fault !== '' && (
        <p class="notice bad" role="alert">
          What is shown may be outdated: {live.fault}
        </p>
      )}
      <main tabIndex={-1}>{view?.show(live)}</main>
    </>
  )
}

function useCurrentView(): string {
  const [name, setName] = useState(nameInAddress)
  useEffect(() => {
    const follow = (): void => setName(nameInAddress())
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  useEffect(() => {
    document.title = `${views[name]?.title ?? ''} – osm dashboard`
  }, [name])
  return name
}

function nameInAddress(): string {
  const name = location.hash.slice(1)
  return Object.hasOwn(views, name) ? name : 'topology'
}
