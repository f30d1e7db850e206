import { type OptionalFeature, optionalFeatures } from '@osm-ts/driver-api'
import { type Static, type TProperties, Type } from '@sinclair/typebox'

/** What a scenario file may hold. docs/reference/scenarios.md tells its readers the same. */

const closed = <T extends TProperties>(properties: T, description: string) =>
  Type.Object(properties, { additionalProperties: false, description })

const oneOf = <const T extends readonly string[]>(values: T, description: string) =>
  Type.Unsafe<T[number]>(
    Type.Union(
      values.map((value) => Type.Literal(value)),
      { description },
    ),
  )

/** On sidecars of this machine by their own ports, on such that intercept connections, and in pods of a cluster. */
export const scenarioModes = ['explicit', 'transparent', 'pods'] as const
export type ScenarioMode = (typeof scenarioModes)[number]
/** Modes of a mesh on one machine. */
export type LocalMode = Exclude<ScenarioMode, 'pods'>

const text = (description: string) => Type.String({ minLength: 1, description })
const qualified = (description: string) =>
  Type.String({ pattern: '^[a-z0-9-]+/[a-z0-9.-]+$', description: `${description} As namespace/name.` })
const texts = (description: string) => Type.Record(Type.String(), Type.String(), { description })
const object = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description })
const count = Type.Union([Type.Integer({ minimum: 0 }), Type.Tuple([Type.Integer(), Type.Integer()])], {
  description: 'A number, or the least and the most, both allowed.',
})
const status = (description: string) =>
  Type.Union([Type.Integer({ minimum: 0, maximum: 599 }), Type.Literal('denied')], { description })
const app = oneOf(
  ['http', 'http2', 'https', 'grpc', 'grpc-tls', 'tcp', 'tcp-server-first', 'connect-proxy', 'socks-proxy'],
  'How it answers: HTTP servers with JSON that tells what they were asked, TCP servers with what they are sent; server-first ones speak first. Proxies connect to where CONNECT requests say, or SOCKS 5 does.',
)

const PortSchema = closed(
  {
    port: Type.Integer({ minimum: 1, maximum: 65535, description: 'Port of the workload, and of its Service.' }),
    app: Type.Optional(app),
    protocol: Type.Optional(text('appProtocol of the Service port; that of the app if it is left out.')),
  },
  'A port that the workload serves.',
)

export const WorkloadSchema = closed(
  {
    name: qualified('Name.'),
    account: Type.Optional(text('Service account; the name of the workload if it is left out.')),
    replicas: Type.Optional(Type.Integer({ minimum: 0, maximum: 5, description: 'Instances; 1 if it is left out.' })),
    labels: Type.Optional(texts('Labels beside app, which is the name of the workload.')),
    annotations: Type.Optional(texts('Annotations.')),
    ports: Type.Optional(Type.Record(text('Name of the port.'), PortSchema, { description: 'Served ports by name.' })),
    service: Type.Optional(
      Type.Boolean({
        description: 'False: no Service of the name of the workload is made. One is if it serves ports.',
      }),
    ),
    sidecar: Type.Optional(Type.Boolean({ description: 'False: the workload is not part of the mesh.' })),
    bind: Type.Optional(
      oneOf(
        ['own'],
        'own: it listens on its own address and no other. In transparent mode only: elsewhere it has none.',
      ),
    ),
  },
  'An actor: a sidecar with a program beside it that serves ports and sends requests.',
)

const ServerSchema = closed({ app }, 'A server outside the mesh. It listens on a free port.')
const ClientSchema = closed(
  {
    source: Type.Optional(text('Address that it connects from.')),
    serverName: Type.Optional(text('Server name that it asks for by TLS.')),
    tls: Type.Optional(Type.Boolean({ description: 'True: it speaks TLS.' })),
    certificate: Type.Optional(
      closed(
        {
          issuer: oneOf(['mesh', 'other'], 'The authority of workloads, or one that the mesh does not know.'),
          commonName: text('Common name, and DNS name if there are no others.'),
          names: Type.Optional(Type.Array(text('A DNS name.'), { description: 'DNS names.' })),
        },
        'Certificate that it shows.',
      ),
    ),
  },
  'A client outside the mesh.',
)

/** Expectations hold at once, or within a time: they are tried again until they do. */
const common = {
  title: Type.Optional(text('What it shows, if that is not plain.')),
  once: Type.Optional(
    Type.Boolean({ description: 'True: it is tried once, since trying again would change what is counted.' }),
  ),
}
const from = text('Workload, or one instance of it, as namespace/name, or outside/<name of a client>.')
const at = Type.Optional(
  Type.String({
    pattern: '^[a-z0-9-]+/[a-z0-9.-]+:[0-9]+$',
    description: 'namespace/workload:port whose sidecar a client outside the mesh connects to.',
  }),
)
const requests = {
  headers: Type.Optional(texts('Headers of the request.')),
  body: Type.Optional(Type.String({ description: 'Body of the request, or text of the message.' })),
  times: Type.Optional(Type.Integer({ minimum: 1, description: 'Requests; 1 if it is left out.' })),
  parallel: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, description: 'Requests at a time; 10 if it is left out.' }),
  ),
  tls: Type.Optional(Type.Boolean({ description: 'True: the application speaks TLS itself.' })),
}
const answers = {
  server: Type.Optional(text('Actor or server that answers, by its name without the namespace.')),
  shares: Type.Optional(
    Type.Record(Type.String(), Type.Number({ minimum: 0, maximum: 1 }), {
      description: 'Share of the requests that each server answers: within five standard deviations; 0 is exact.',
    }),
  ),
  responseHeaders: Type.Optional(texts('Headers that the answer has.')),
  seen: Type.Optional(object('What the server says of the request: method, path, host, version, headers, body.')),
}
const lines = {
  send: Type.Optional(text('Line that is sent.')),
  received: Type.Optional(text('Line that comes back.')),
  closed: Type.Optional(Type.Boolean({ description: 'True: the connection ends, or is never made.' })),
}
const keep = Type.Optional(text('Name under which the connection stays open for later steps.'))

/** Kinds of expectations by the field that makes them one. */
export const expectationSchemas = {
  http: closed(
    {
      ...common,
      from,
      at,
      http: Type.String({ pattern: '^[A-Z]+ https?://[^/ ]+(/.*)?$', description: 'Method and URL.' }),
      ...requests,
      version: Type.Optional(oneOf(['1.1', '2'], 'Version of HTTP; 1.1 if it is left out.')),
      status: Type.Optional(status('Status of each answer; 0: there is none; denied: 403, or none.')),
      statuses: Type.Optional(
        Type.Record(Type.String({ pattern: '^[0-9]+$' }), count, { description: 'Answers by status.' }),
      ),
      ...answers,
    },
    'An HTTP request.',
  ),
  grpc: closed(
    {
      ...common,
      from,
      at,
      grpc: Type.String({ pattern: '^[^/ ]+/[^/ ]+/[^/ ]+$', description: 'host:port/package.Service/Method.' }),
      ...requests,
      code: Type.Optional(
        Type.Union([Type.Integer({ minimum: 0, maximum: 16 }), Type.Literal('denied')], {
          description: 'Status of gRPC; denied: 7 (permission denied), or no answer.',
        }),
      ),
      ...answers,
    },
    'A unary gRPC call.',
  ),
  websocket: closed(
    {
      ...common,
      from,
      at,
      websocket: Type.String({ pattern: '^http://[^/ ]+(/.*)?$', description: 'URL.' }),
      headers: requests.headers,
      keep,
      status: Type.Optional(status('Status; 101 once it is upgraded; 0: no answer; denied: 403, or none.')),
      ...lines,
    },
    'A request that is upgraded to a stream.',
  ),
  tcp: closed(
    {
      ...common,
      from,
      at,
      tcp: Type.String({ pattern: '^[^: ]+:[0-9]+$', description: 'host:port.' }),
      tls: requests.tls,
      times: requests.times,
      keep,
      ...lines,
    },
    'A TCP connection.',
  ),
  kept: closed(
    { ...common, from, kept: text('Name of a connection that an earlier step keeps.'), ...lines },
    'A connection that was opened earlier.',
  ),
  stats: closed(
    {
      ...common,
      stats: qualified('Workload whose sidecar is asked.'),
      values: Type.Record(Type.String(), count, {
        description: 'Values by name of the statistic; one that is absent is 0.',
      }),
    },
    'Statistics of a sidecar.',
  ),
  problem: closed(
    {
      ...common,
      problem: text('Code of the problem.'),
      object: Type.Optional(text('Kind namespace/name.')),
      field: Type.Optional(text('Path of the field.')),
      absent: Type.Optional(Type.Boolean({ description: 'True: there is no such problem.' })),
    },
    'A problem that is reported.',
  ),
} as const

export const StepSchema = closed(
  {
    title: text('What the step shows, as the end of a sentence.'),
    mesh: Type.Optional(object('Spec of the MeshConfig from now on, over the defaults of scenarios.')),
    apply: Type.Optional(
      Type.Array(object('A Kubernetes object.'), { description: 'Objects that are added or replaced.' }),
    ),
    remove: Type.Optional(Type.Array(text('Kind namespace/name.'), { description: 'Objects that go.' })),
    workloads: Type.Optional(Type.Array(WorkloadSchema, { description: 'Actors that are added or replaced.' })),
    expect: Type.Array(object('An expectation.'), { minItems: 1, description: 'What is true then.' }),
  },
  'A change, and what is true after it.',
)

export const ScenarioSchema = closed(
  {
    title: text('What the scenario shows, in a few words.'),
    osm: Type.Optional(
      Type.Array(text('Name.'), { description: 'Tests of Open Service Mesh whose assertions the scenario has.' }),
    ),
    modes: Type.Array(oneOf(scenarioModes, 'A mode.'), {
      minItems: 1,
      uniqueItems: true,
      description: 'Modes that it runs in.',
    }),
    without: Type.Optional(
      closed(
        Object.fromEntries(scenarioModes.map((mode) => [mode, Type.Optional(text('Why.'))])),
        'Why it does not run in the other modes.',
      ),
    ),
    needs: Type.Optional(
      Type.Array(oneOf(optionalFeatures, 'A feature.'), {
        description:
          'Features that not every sidecar class has. Where one is missing, the scenario shows that its objects are reported.',
      }),
    ),
    mesh: Type.Optional(object('Spec of the MeshConfig, over the defaults of scenarios.')),
    workloads: Type.Array(WorkloadSchema, { description: 'Actors of the mesh.' }),
    outside: Type.Optional(
      closed(
        {
          servers: Type.Optional(Type.Record(Type.String(), ServerSchema, { description: 'Servers by name.' })),
          clients: Type.Optional(Type.Record(Type.String(), ClientSchema, { description: 'Clients by name.' })),
        },
        'Actors outside the mesh.',
      ),
    ),
    objects: Type.Optional(
      Type.Array(object('A Kubernetes object.'), { description: 'Objects that are there from the start.' }),
    ),
    steps: Type.Array(StepSchema, { minItems: 1, description: 'What happens, one after the other.' }),
  },
  'A scenario.',
)

type Kinds = typeof expectationSchemas

/** Something that is to be true, with the name of its kind. */
export type Expectation = { readonly [K in keyof Kinds]: { readonly kind: K } & Static<Kinds[K]> }[keyof Kinds]
export type ExpectationOf<K extends keyof Kinds> = Extract<Expectation, { readonly kind: K }>
export type ScenarioWorkload = Static<typeof WorkloadSchema>
export type ScenarioClient = Static<typeof ClientSchema>
export type ScenarioObject = Readonly<Record<string, unknown>>
export type Count = Static<typeof count>
export type ScenarioStep = Omit<Static<typeof StepSchema>, 'expect'> & { readonly expect: readonly Expectation[] }
export type Scenario = Omit<Static<typeof ScenarioSchema>, 'steps' | 'without' | 'needs'> & {
  /** Name of the file without its ending. */
  readonly name: string
  readonly steps: readonly ScenarioStep[]
  readonly needs?: readonly OptionalFeature[]
  readonly without?: Readonly<Partial<Record<ScenarioMode, string>>>
}
