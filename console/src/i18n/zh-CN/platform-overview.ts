import type { Full } from "..";

export const platformOverview: Full["platformOverview"] = {
  title: "平台",
  summary: "{tenants} 个租户共 {running} 个实例运行中，每小时 {rate}。可用单元 {available} 个。",
  needsLook: "需要关注",
  allWell: "全部模块正常，最近一天没有失败。",
  look: "查看",
  operationFailed: "库存操作失败（{time}）：",
  repairs: { other: "今天有 {count} 次库存修复，最近一次：" },
  capacity: "容量",
  used: "已用",
  available: "可用",
  inactive: "不可用",
  draining: "排空中",
  noStock: "还没有库存，请添加单元。",
  soldOut: { other: "{count} 个规格已无余量" },
  spenders: "本月花费最多的租户",
  allTenants: "全部租户",
  byDay: "全部租户本月每日费用",
};
