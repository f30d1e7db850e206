import type { DriverMetrics } from '@osm-ts/driver-api'

import { pushOrder, type XdsType } from './xds-types.js'

/** Upper bounds of the time from a response to its acknowledgement, in seconds. */
const UPDATE_BUCKETS = [0.01, 0.05, 0.25, 1, 10]

/**
 * Metrics of the xDS server under the names of OSM.
 *
 * Where OSM labels by proxy and identity, only the type is kept: one series for each proxy that was ever seen grows without bound. The debug pages
 * tell about single proxies.
 */
export class XdsMetrics {
  readonly #connected
  readonly #reconnects
  readonly #rejected
  readonly #requests
  readonly #sent
  readonly #failed
  readonly #updates
  /** Frozen, so that the series of each type is looked up once. */
  readonly #labels = new Map(pushOrder.map((type) => [type, labelsOf(type)]))
  #streams = 0

  constructor(metrics: DriverMetrics) {
    this.#connected = metrics.gauge('osm_proxy_connect_count', 'Connected proxies', [])
    this.#reconnects = metrics.counter(
      'osm_proxy_reconnect_count',
      'Streams of proxies that already have a configuration',
      [],
    )
    this.#rejected = metrics.counter(
      'osm_proxy_max_connections_rejected',
      'Streams refused because of the connection limit',
      [],
    )
    this.#requests = metrics.counter('osm_proxy_xds_request_count', 'Requests of proxies', ['type'])
    this.#sent = metrics.counter('osm_proxy_response_send_success_count', 'Responses sent', ['type'])
    this.#failed = metrics.counter('osm_proxy_response_send_error_count', 'Responses that failed to be sent', ['type'])
    this.#updates = metrics.histogram(
      'osm_proxy_config_update_time',
      'Time from a response to its acknowledgement',
      ['resource_type', 'success'],
      UPDATE_BUCKETS,
    )
    this.#connected.set({}, 0)
  }

  connected(): void {
    this.#streams += 1
    this.#connected.set({}, this.#streams)
  }

  disconnected(): void {
    this.#streams -= 1
    this.#connected.set({}, this.#streams)
  }

  reconnected(): void {
    this.#reconnects.inc({})
  }

  rejected(): void {
    this.#rejected.inc({})
  }

  requested(type: XdsType): void {
    this.#requests.inc(this.#labelsOf(type).type)
  }

  sent(type: XdsType): void {
    this.#sent.inc(this.#labelsOf(type).type)
  }

  failed(type: XdsType): void {
    this.#failed.inc(this.#labelsOf(type).type)
  }

  acknowledged(type: XdsType, success: boolean, seconds: number): void {
    const { applied, refused } = this.#labelsOf(type)
    this.#updates.observe(success ? applied : refused, seconds)
  }

  #labelsOf(type: XdsType): ReturnType<typeof labelsOf> {
    return this.#labels.get(type) ?? labelsOf(type)
  }
}

function labelsOf(type: XdsType) {
  return {
    type: Object.freeze({ type }),
    applied: Object.freeze({ resource_type: type, success: 'true' }),
    refused: Object.freeze({ resource_type: type, success: 'false' }),
  }
}
