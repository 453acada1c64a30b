/** GET /v1/invoices: the invoices of an admin key's account, as JSON and as a page to print. */
import { Field } from "../../../../schemas/common.ts";
import { Type } from "typebox";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { preferredType } from "../../../../gateway/accept.ts";
import { PAGE_HEADERS } from "../../../../gateway/html-page.ts";
import { json } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { Invoice, INVOICE_ID, InvoiceSummary } from "../../../../schemas/invoices.ts";
import { findInvoice, listInvoices } from "../invoices.ts";
import { adminOnly } from "./admin-only.ts";
import { invoicePage } from "./invoice-page.ts";
import { printInvoice } from "./print-invoice.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { RoleClient } from "../../../../cluster/role-actor.ts";

const SUMMARY_FIELDS = Object.keys(InvoiceSummary.properties) as (keyof typeof InvoiceSummary.properties)[];

const FORMATS = {
  "application/json": "json",
  "text/html": "html",
  "application/pdf": "pdf",
} as const;
const MEDIA_TYPES = ["application/json", "text/html", "application/pdf"] as const;

const formatOf = (accept: string | undefined) =>
  FORMATS[preferredType(accept, MEDIA_TYPES) ?? "application/json"];

/** `call` reaches the browsers that print. */
interface InvoiceRoutesDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly call: RoleClient;
}

export const invoiceRoutes = ({ documents, ...printing }: InvoiceRoutesDeps): readonly Route[] => [
  route({
    method: "GET",
    path: "/v1/invoices",
    operationId: "listInvoices",
    summary: "The account's invoices, newest first",
    description:
      "An invoice is issued on the first of each month for the month before. Amounts are decimals of six places.",
    tags: ["account"],
    replies: {
      200: {
        description: "At most 1,000, without their lines",
        schema: Type.Object({ invoices: Field(Type.Array(InvoiceSummary), "Newest first") }),
      },
    },
    authorize: adminOnly,
    authorize_errors: ["admin_key_required"],
    handle: async ({ caller }) => {
      const invoices = await listInvoices(documents, caller.grant.customer.name);
      return json(200, {
        invoices: invoices.map((invoice) =>
          Object.fromEntries(SUMMARY_FIELDS.map((name) => [name, invoice[name]])),
        ),
      });
    },
  }),
  route({
    method: "GET",
    path: "/v1/invoices/{id}",
    operationId: "getInvoice",
    summary: "One invoice with its lines; a page to print with format=html, a PDF with format=pdf",
    description:
      "Where no browser is there to make the PDF, or it has failed, the answer is 503, and `detail` says which.",
    tags: ["account"],
    params: Type.Object({
      id: Field(Type.String({ pattern: INVOICE_ID }), "The number of the invoice", "inv-2026-11-1-acme"),
    }),
    query: Type.Object({
      format: Type.Optional(
        Field(
          Type.Enum(["json", "html", "pdf"]),
          "html: a page to print; pdf: the same as a file; default by the header Accept",
        ),
      ),
    }),
    replies: {
      200: { description: "The invoice", schema: Invoice, also: ["text/html", "application/pdf"] },
      404: { description: "The account has no such invoice", schema: Type.Object({ detail: Type.String() }) },
    },
    authorize: adminOnly,
    authorize_errors: ["admin_key_required"],
    handle: async ({ params, query, caller, head, signal }) => {
      const invoice = await findInvoice(documents, params.id);
      if (invoice?.customer !== caller.grant.customer.name) return json(404, { detail: "invoice not found" });
      switch (query.format ?? formatOf(head.headers.get("accept"))) {
        case "json":
          return json(200, invoice);
        case "html":
          return { status: 200, headers: PAGE_HEADERS, body: Buffer.from(invoicePage(invoice)) };
        case "pdf":
          return printInvoice(printing, { id: params.id, html: invoicePage(invoice), signal });
      }
    },
  }),
];
