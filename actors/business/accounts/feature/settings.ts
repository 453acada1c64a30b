/** The settings of invoices: the seller, the tax, the day by which they are to be paid. */
import { Type } from "typebox";
import { closed, listSetting, optionalSetting, textSetting } from "../../../../node/settings.ts";
import { isPercent } from "../invoice-terms.ts";

export const SETTINGS = {
  invoices: Type.Object(
    {
      seller_name: optionalSetting({
        env: "TRAWL_INVOICE_SELLER",
        shared: true,
        description:
          "The name of the seller on invoices. Unset: invoices name none, and are no invoices to a bookkeeper.",
      }),
      seller_address: listSetting({
        env: "TRAWL_INVOICE_SELLER_ADDRESS",
        shared: true,
        description: "The lines of the seller's address.",
      }),
      seller_tax_id: optionalSetting({
        env: "TRAWL_INVOICE_SELLER_TAX_ID",
        shared: true,
        description: "The seller's number for tax, such as a VAT number.",
      }),
      tax_name: textSetting({
        env: "TRAWL_INVOICE_TAX_NAME",
        default: "VAT",
        shared: true,
        description: "What the tax is called on invoices.",
      }),
      tax_percent: optionalSetting({
        env: "TRAWL_INVOICE_TAX_PERCENT",
        shared: true,
        rule: { fits: isPercent, expected: "a number below 100 with at most two decimals, such as 8.1" },
        description:
          "The tax on invoices that are drawn from now on, in percent of the net amount. Unset: invoices have no line of tax; 0 is a line of 0.",
      }),
      due_days: Type.Integer({
        env: "TRAWL_INVOICE_DUE_DAYS",
        default: 30,
        minimum: 0,
        maximum: 365,
        shared: true,
        description: "Days from the issue of an invoice until it is due.",
      }),
      payment: optionalSetting({
        env: "TRAWL_INVOICE_PAYMENT",
        shared: true,
        description: "How invoices are paid, in a line, such as the bank account.",
      }),
    },
    closed,
  ),
};
