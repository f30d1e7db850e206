export { eventually } from '@osm-ts/driver-testkit'
