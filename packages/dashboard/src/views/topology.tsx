import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'

import { isTroubled, type ShownProxy, type Topology, type TopologyEdge, type TopologyNode } from '../api.js'
import {
  filterTopology,
  layOut,
  type Picture,
  type PlacedEdge,
  type PlacedNode,
  placeText,
  readable,
} from '../layout.js'
import type { LiveMesh } from '../live-mesh.js'
import { type ArrowTraffic, rateText, trafficOn, trafficText } from '../traffic.js'
import { FilterBar, Table, Waiting } from './parts.js'

/** Who may call whom: a picture, and the same as a table. */
export function TopologyView({
  live: { topology, proxies = [], traffic = [] },
}: {
  readonly live: LiveMesh
}): JSX.Element {
  const [search, setSearch] = useState('')
  const [namespace, setNamespace] = useState('')
  const [onlyTroubled, setOnlyTroubled] = useState(false)
  const [chosen, setChosen] = useState<string>()
  const trafficOf = useMemo(() => trafficOn(traffic), [traffic])
  const troubled = useMemo(() => troubledNames(proxies), [proxies])
  const shown = useMemo(() => {
    if (topology === undefined) return undefined
    const keeps = (node: TopologyNode): boolean =>
      `${node.namespace}/${node.name}`.includes(search) &&
      (namespace === '' || node.namespace === namespace) &&
      (!onlyTroubled || hasTrouble(node, troubled))
    const isFiltered = search !== '' || namespace !== '' || onlyTroubled
    return readable(isFiltered ? filterTopology(topology, keeps) : topology)
  }, [topology, search, namespace, onlyTroubled, troubled])
  // The layout takes long, and depends on boxes and arrows alone.
  const structure = JSON.stringify(
    shown && [
      shown.nodes.map((node) => [node.id, placeText(node)]),
      shown.edges.map(({ from, to, kind }) => [from, to, kind]),
    ],
  )
  const picture = useMemo(() => shown && layOut(shown), [structure])
  if (topology === undefined || shown === undefined || picture === undefined) return <Waiting />
  const namespaces = [...new Set(topology.nodes.map((node) => node.namespace))].filter((name) => name !== '').sort()
  const choose = (id: string): void => setChosen(id === chosen ? undefined : id)
  return (
    <>
      <h2>Topology</h2>
      <FilterBar search={search} onSearch={setSearch} onlyTroubled={onlyTroubled} onOnlyTroubled={setOnlyTroubled}>
        <label>
          Namespace
          <select value={namespace} onChange={({ currentTarget }) => setNamespace(currentTarget.value)}>
            <option value="">all</option>
            {namespaces.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </FilterBar>
      <div class="sheet">
        <Drawing picture={picture} trafficOf={trafficOf} troubled={troubled} chosen={chosen} onChoose={choose} />
        <ul class="legend">
          <li>blue box: workload</li>
          <li>grey box: service</li>
          <li>dashed box: outside the mesh</li>
          <li>second line of a box: its namespace, and the class of its sidecars</li>
          <li>padlock: the called sidecar accepts nothing but mutual TLS</li>
          <li>green arrow: may call; thick: calls, with requests per second; red: some fail</li>
          <li>blue arrow: share of a split</li>
          <li>dotted arrow: is served by</li>
        </ul>
      </div>
      <Connections topology={shown} trafficOf={trafficOf} chosen={chosen} />
    </>
  )
}

function troubledNames(proxies: readonly ShownProxy[]): ReadonlySet<string> {
  return new Set(proxies.filter(isTroubled).map(({ name }) => name))
}

function hasTrouble({ proxies }: TopologyNode, troubled: ReadonlySet<string>): boolean {
  return proxies.some((name) => troubled.has(name))
}

/** What is known of the requests along an arrow. */
type TrafficOf = (edge: TopologyEdge) => ArrowTraffic | undefined

interface DrawingProps {
  readonly picture: Picture
  readonly trafficOf: TrafficOf
  readonly troubled: ReadonlySet<string>
  readonly chosen: string | undefined
  readonly onChoose: (id: string) => void
}

function Drawing({ picture, trafficOf, troubled, chosen, onChoose }: DrawingProps): JSX.Element {
  const { nodes, edges, width, height } = picture
  if (nodes.length === 0) return <p class="soft">Nothing matches.</p>
  const isNear = ({ from, to }: TopologyEdge): boolean => chosen === undefined || chosen === from || chosen === to
  return (
    <svg
      class="picture"
      role="group"
      aria-label="Topology"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
    >
      <defs>
        <marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">
          <path d="M0 0 10 5 0 10z" />
        </marker>
      </defs>
      {edges.map((edge) => (
        <Arrow
          key={`${edge.from} ${edge.to} ${edge.kind}`}
          edge={edge}
          traffic={trafficOf(edge)}
          isDim={!isNear(edge)}
        />
      ))}
      {nodes.map((node) => (
        <Box
          key={node.id}
          node={node}
          isTroubled={hasTrouble(node, troubled)}
          isChosen={node.id === chosen}
          onChoose={onChoose}
        />
      ))}
    </svg>
  )
}

function Arrow({
  edge: { kind, points, rules, isMutualTls },
  traffic,
  isDim,
}: {
  readonly edge: PlacedEdge
  readonly traffic: ArrowTraffic | undefined
  readonly isDim: boolean
}): JSX.Element {
  const path = points.map(({ x, y }, at) => `${at === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('')
  const middle = points[Math.floor(points.length / 2)]
  return (
    <g class={[kind, ...busyClasses(traffic), ...(isDim ? ['dim'] : [])].join(' ')} aria-hidden="true">
      <path d={path} marker-end="url(#tip)" />
      {isMutualTls === true && <Padlock {...beginningOf(points)} />}
      {middle !== undefined && (kind === 'split' || traffic !== undefined) && (
        <text class="place" x={middle.x} y={middle.y - 4}>
          {traffic === undefined ? rules[0]?.request : rateText(traffic.perSecond)}
        </text>
      )}
    </g>
  )
}

type Point = PlacedEdge['points'][number]

/** Halfway along the first leg of an arrow: the text is in the middle of the arrow. */
function beginningOf([first, second]: readonly Point[]): Point {
  const [start, end] = [first ?? { x: 0, y: 0 }, second ?? first ?? { x: 0, y: 0 }]
  return { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 }
}

function Padlock({ x, y }: Point): JSX.Element {
  return (
    <path
      class="padlock"
      transform={`translate(${x.toFixed(1)} ${y.toFixed(1)})`}
      d="M-4-1h8v6h-8zM-2.5-1v-2a2.5 2.5 0 0 1 5 0v2"
    />
  )
}

function busyClasses(traffic: ArrowTraffic | undefined): readonly string[] {
  if (traffic === undefined) return []
  return traffic.success < 1 ? ['busy', 'failing'] : ['busy']
}

interface BoxProps {
  readonly node: PlacedNode
  readonly isTroubled: boolean
  readonly isChosen: boolean
  readonly onChoose: (id: string) => void
}

function Box({ node, isTroubled: isBad, isChosen, onChoose }: BoxProps): JSX.Element {
  const { id, kind, name, x, y, width, height } = node
  const place = placeText(node)
  const classes = ['node', kind, isBad ? 'troubled' : '', isChosen ? 'chosen' : ''].filter((word) => word !== '')
  return (
    <g
      class={classes.join(' ')}
      role="button"
      tabindex={0}
      aria-pressed={isChosen}
      aria-label={`${[name, place].filter((text) => text !== '').join(' ')}, ${kind}${isBad ? ', has problems' : ''}`}
      onClick={() => onChoose(id)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return
        event.preventDefault()
        onChoose(id)
      }}
    >
      <rect x={x - width / 2} y={y - height / 2} width={width} height={height} rx={kind === 'workload' ? 14 : 3} />
      <text x={x} y={place === '' ? y + 4 : y - 1}>
        {name}
      </text>{' '}
      {place !== '' && (
        <text class="place" x={x} y={y + 14}>
          {place}
        </text>
      )}
    </g>
  )
}

/** The arrows as a table, for those who do not see the picture, and for the rules behind them. */
function Connections({
  topology: { nodes, edges },
  trafficOf,
  chosen,
}: {
  readonly topology: Topology
  readonly trafficOf: TrafficOf
  readonly chosen: string | undefined
}): JSX.Element {
  const named = new Map(
    nodes.map((node) => [node.id, node.namespace === '' ? node.name : `${node.namespace}/${node.name}`]),
  )
  const order = ['access', 'split', 'serves']
  const shown = edges
    .filter(({ from, to }) => chosen === undefined || chosen === from || chosen === to)
    .sort((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind))
  const whose = chosen === undefined ? '' : ` of ${named.get(chosen) ?? chosen}`
  return (
    <Table
      caption={`${shown.length} connections${whose}`}
      columns={['From', 'Relation', 'To', 'Requests', 'Encryption', 'Traffic', 'Allowed by']}
    >
      {shown.map((edge) => (
        <Connection key={`${edge.from} ${edge.to} ${edge.kind}`} edge={edge} named={named} traffic={trafficOf(edge)} />
      ))}
    </Table>
  )
}

const relations = { access: 'may call', split: 'sends a share to', serves: 'is served by' } as const

interface ConnectionProps {
  readonly edge: TopologyEdge
  /** Names of boxes by their ids. */
  readonly named: ReadonlyMap<string, string>
  readonly traffic: ArrowTraffic | undefined
}

function Connection({ edge: { from, to, kind, rules, isMutualTls }, named, traffic }: ConnectionProps): JSX.Element {
  return (
    <tr>
      <td>{named.get(from)}</td>
      <td class="soft">{relations[kind]}</td>
      <td>{named.get(to)}</td>
      <td>
        {rules.map(({ request }) => (
          <div key={request}>{request}</div>
        ))}
      </td>
      <td>{isMutualTls === true ? 'mutual TLS' : kind === 'access' && 'that of the caller'}</td>
      <td>{traffic !== undefined && trafficText(traffic)}</td>
      <td>
        {[...new Set(rules.flatMap(({ allowedBy }) => allowedBy))].map((rule) => (
          <div key={rule}>{rule}</div>
        ))}
      </td>
    </tr>
  )
}
