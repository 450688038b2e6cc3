import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { canonicalAddress } from "../../access/address-block.js";
import type { Admission, Admitted } from "../../access/admission.js";
import type { EndReason, HandshakeFailure } from "../../meter.js";

/** A socket at the endpoint, from its accept to its close, as the layers know it that lie below MQTT. */
export interface IncomingSocket {
  /** The client's, canonical, as far as is known yet; empty for a socket that is gone already. */
  readonly address: string;
  /** Another node of the cluster passes it on: it goes no further. */
  readonly isRelayed: boolean;
  /** Why it has not come to MQTT, if it closes before that. */
  failure: HandshakeFailure;
  /** A proxy has sent the address of the client. */
  setAddress(address: string): void;
  /** The layers below MQTT are done. */
  attach(connection: AttachedConnection): void;
  /** Its client has shown a right credential of this tenant. */
  prove(tenant: number): void;
}

/** What MQTT makes of one. */
export interface AttachedConnection {
  /** CONNECT has come, and it has not ended. */
  readonly isKnown: boolean;
  end(reason: EndReason): void;
}

/** What asks to be admitted: a socket, or what stands for one of a client that another node passes on. */
export type Admissible = Duplex & Partial<Pick<Socket, "remoteAddress">>;

/** A socket that the endpoint has admitted. */
export class AdmittedSocket implements IncomingSocket, Admitted {
  address: string;
  readonly isRelayed: boolean;
  failure: HandshakeFailure = "lost";
  #connection: AttachedConnection | null = null;
  readonly #socket: Admissible;
  readonly #admission: Admission<AdmittedSocket>;

  /** @param relayedFrom the client's address, if another node passes it on */
  constructor(socket: Admissible, admission: Admission<AdmittedSocket>, relayedFrom: string | null = null) {
    this.address = relayedFrom ?? canonicalAddress(socket.remoteAddress ?? "") ?? "";
    this.isRelayed = relayedFrom !== null;
    this.#socket = socket;
    this.#admission = admission;
  }

  get isIdle(): boolean {
    return this.#connection?.isKnown !== true;
  }

  setAddress(address: string): void {
    if (address !== this.address) this.#admission.move(this, address);
  }

  attach(connection: AttachedConnection): void {
    this.#connection = connection;
  }

  prove(tenant: number): void {
    this.#admission.prove(this, tenant);
  }

  giveWay(): void {
    this.failure = "gave_way";
    this.#connection?.end("gave_way");
    this.close();
  }

  close(): void {
    this.#socket.destroy();
  }
}
