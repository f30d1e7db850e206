import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { isTroubled, type ShownProxy } from '../api.js'
import { ask, type Asked } from '../ask.js'
import type { PolicyDocument } from '../compare-policies.js'
import { Comparison, type SeenVersion } from './comparison.js'
import { FilterBar, Mark, objectText, Table, Waiting } from './parts.js'

/** Every proxy, and what one of them was sent. */
export function ProxiesView({ proxies }: { readonly proxies: readonly ShownProxy[] | undefined }): JSX.Element {
  const [search, setSearch] = useState('')
  const [onlyTroubled, setOnlyTroubled] = useState(false)
  const [chosen, setChosen] = useState<string>()
  if (proxies === undefined) return <Waiting />
  const shown = proxies
    .filter(({ name, class: className, services }) =>
      [name, className, ...services].some((word) => word.includes(search)),
    )
    .filter((proxy) => !onlyTroubled || isTroubled(proxy))
  const one = proxies.find(({ name }) => name === chosen)
  return (
    <>
      <h2>Proxies</h2>
      <FilterBar search={search} onSearch={setSearch} onlyTroubled={onlyTroubled} onOnlyTroubled={setOnlyTroubled} />
      <Table
        caption={`${shown.length} of ${proxies.length} proxies`}
        columns={[
          'Proxy',
          'Class',
          'State',
          'Takes part',
          'Services',
          'Version in force',
          'Last report',
          'Certificate expires',
        ]}
      >
        {shown.map((proxy) => (
          <tr key={`${proxy.uuid} ${proxy.name}`}>
            <td>
              <button class="plain" aria-expanded={proxy.name === chosen} onClick={() => setChosen(proxy.name)}>
                {proxy.name}
              </button>
            </td>
            <td>{proxy.class}</td>
            <td>
              <Mark tone={toneOf(proxy)}>{proxy.connected ? proxy.state : 'disconnected'}</Mark>
            </td>
            <td>{proxy.participation === 'withoutEndpoint' ? 'without endpoint' : (proxy.participation ?? 'no')}</td>
            <td>{proxy.services.join(', ')}</td>
            <td class="code">{proxy.appliedVersion?.slice(0, 10) ?? '–'}</td>
            <td class="code">{proxy.lastReport?.slice(11, 19) ?? '–'}</td>
            <td class="code">
              <Expiry time={proxy.certificateExpires} />
            </td>
          </tr>
        ))}
      </Table>
      {one !== undefined && <ProxyDetails key={one.uuid} proxy={one} />}
    </>
  )
}

function toneOf(proxy: ShownProxy): 'good' | 'warn' | 'bad' {
  if (proxy.state === 'rejected' || !proxy.connected) return 'bad'
  return isTroubled(proxy) ? 'warn' : 'good'
}

/** When a certificate expires, in UTC. */
function Expiry({ time }: { readonly time: string | undefined }): JSX.Element {
  if (time === undefined) return <>–</>
  const text = time.slice(0, 16).replace('T', ' ')
  return Date.parse(time) < Date.now() ? <Mark tone="bad">{text}</Mark> : <>{text}</>
}

/** Versions of the policy of the chosen proxy that are kept to be compared. */
const MAX_VERSIONS = 10

function ProxyDetails({ proxy }: { readonly proxy: ShownProxy }): JSX.Element {
  const [asked, setAsked] = useState<Asked<PolicyDocument>>()
  const [versions, setVersions] = useState<readonly SeenVersion[]>([])
  const { uuid, identity, wantedVersion } = proxy
  useEffect(() => {
    let isCurrent = true
    const query = new URLSearchParams({ uuid, identity })
    void ask<PolicyDocument>(`policy?${query.toString()}`).then((answer) => {
      if (!isCurrent) return
      setAsked(answer)
      if (answer.state !== 'answered') return
      const seen = { version: wantedVersion ?? '', time: new Date().toISOString(), document: answer.answer }
      setVersions((before) => [seen, ...before].slice(0, MAX_VERSIONS))
    })
    return () => {
      isCurrent = false
    }
  }, [uuid, identity, wantedVersion])
  return (
    <section class="sheet" aria-label={`Proxy ${proxy.name}`}>
      <h3>{proxy.name}</h3>
      <p>
        Identity <code>{identity}</code>, policy <code>{wantedVersion ?? 'none'}</code>, revision{' '}
        {proxy.appliedRevision} of {proxy.revision} applied.
      </p>
      {proxy.conditions.map(({ code, message, since }) => (
        <p key={`${code} ${since}`}>
          <Mark tone="warn">{code}</Mark> {message} <span class="soft">since {since}</span>
        </p>
      ))}
      {proxy.rejected.map(({ id, message, sources }) => (
        <p key={id}>
          <Mark tone="bad">refused</Mark> {id}: {message}
          <span class="soft"> {sources.map(({ object, field }) => objectText(object, field)).join(', ')}</span>
        </p>
      ))}
      {proxy.denied.length > 0 && (
        <p>
          <Mark tone="bad">closed</Mark> {proxy.denied.join(', ')}: a change that removes access was refused
        </p>
      )}
      {versions.length > 1 && <Comparison versions={versions} />}
      <h3>Configuration</h3>
      {asked === undefined && <Waiting />}
      {asked?.state === 'refused' && <p role="alert">{asked.reason}</p>}
      {asked?.state === 'answered' && (
        <>
          <details>
            <summary>proxy</summary>
            <pre>{JSON.stringify(asked.answer.proxy, undefined, 2)}</pre>
          </details>
          {Object.entries(asked.answer.parts).map(([hash, part]) => (
            <details key={hash}>
              <summary>
                {part.kind ?? 'part'} <span class="soft code">{hash.slice(0, 10)}</span>
              </summary>
              <pre>{JSON.stringify(part, undefined, 2)}</pre>
            </details>
          ))}
        </>
      )}
    </section>
  )
}
